import { DeskError, reasonOf } from './fault.ts'
import { type Mailbox, openMailbox } from './mailbox.ts'
import { help, type Options, parseOptions } from './options.ts'
import { neutralise } from './terminal.ts'

try {
  process.exitCode = await main(process.argv.slice(2))
} catch (error) {
  const usage = error instanceof DeskError && error.kind === 'usage'
  const text = usage || !(error instanceof Error) ? reasonOf(error) : (error.stack ?? error.message)
  process.stderr.write(`desk: ${neutralise(text)}\n`)
  process.exitCode = usage ? 2 : 1
}

async function main(args: readonly string[]): Promise<number> {
  const options = parseOptions(args)
  if (options.help) {
    process.stdout.write(help)
    return 0
  }
  const mailbox = await openMailbox(options.mail)
  const names = chosen(mailbox, options)
  // Provost and the tools are loaded when there is work for them: help and mistakes are answered at once.
  const { openDesk } = await import('./start.ts')
  return openDesk(mailbox, names, options)
}

function chosen({ names, dir }: Mailbox, { only }: Options): readonly string[] {
  for (const name of only)
    if (!names.includes(name)) throw new DeskError('usage', `There is no ${JSON.stringify(name)} in ${dir}.`)
  return only.length === 0 ? names : names.filter((name) => only.includes(name))
}
