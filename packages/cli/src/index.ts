import { existsSync } from 'node:fs'
import process from 'node:process'

import { exitCodes } from './command/command.ts'
import { hintOf } from './command/error-hint.ts'
import { helpOf, overview } from './command/help.ts'
import { endBySignal, readerGone } from './command/interruption.ts'
import { parseCommandLine } from './command/parse-command-line.ts'
import { invalidUsage } from './command/usage-error.ts'
import { commands } from './commands/command-table.ts'

/** Milliseconds for what a program leaves open, such as a pool of connections, once its command is done. */
const graceMs = 2_000

/**
 * Executes a command line of `provost`, writes to stdout and stderr, and sets the exit code of the process. `--help` and
 * `--version` load nothing of the runtime.
 *
 * @param args without the program and its file.
 *
 * @example
 * await main(process.argv.slice(2))
 */
export async function main(args: readonly string[]): Promise<void> {
  process.stdout.on('error', endOfReader)
  process.stderr.on('error', endOfReader)
  try {
    process.exitCode = await execute(args)
    endBySignal(process.exitCode)
  } catch (thrown) {
    process.exitCode = await report(thrown, args.includes('--json'))
  }
  // The file of an agent may keep the process alive: it ends by itself, or after a moment.
  setTimeout(() => process.exit(), graceMs).unref()
}

async function execute(args: readonly string[]): Promise<number> {
  const [name = '--help', ...rest] = args
  if (name === '--version' || name === '-v') return print(`${await version()}\n`)
  if (name === '--help' || name === '-h') return print(overview(commands))
  const isHelp = name === 'help'
  const [wanted, ...others] = isHelp ? rest : [name, ...rest]
  if (wanted === undefined) return print(overview(commands))
  const command = commands.find((one) => one.name === wanted)
  if (!command) throw await unknownCommand(wanted)
  if (!isHelp) loadSettings()
  if ('readsArguments' in command) return (await command.load())(isHelp ? ['--help'] : others)
  if (isHelp) return print(helpOf(command))
  const line = await parseCommandLine(command, others)
  if (line.help) return print(helpOf(command))
  const run = await command.load()
  return run(line.given)
}

/** Reads the keys of the project, as the templates of create-provost do. Variables that are set already stay. */
function loadSettings(): void {
  if (existsSync('.env')) process.loadEnvFile('.env')
}

function unknownCommand(name: string): Promise<Error> {
  const known = commands.map((one) => one.name)
  const kind = name.startsWith('-') ? 'option' : 'command'
  return invalidUsage(undefined, `Unknown ${kind} ${name || '""'}.`, { given: name, known })
}

function print(text: string): number {
  process.stdout.write(text)
  return exitCodes.ok
}

async function version(): Promise<string> {
  const { default: manifest } = await import('../package.json', { with: { type: 'json' } })
  return manifest.version
}

/** Writes an error as `code: message` with its hint, or as a JSON line. */
async function report(thrown: unknown, json: boolean): Promise<number> {
  const { displayText, toErrorInfo } = await import('@provost/core')
  const info = toErrorInfo(thrown)
  const hint = hintOf(info)
  const error = { ...info, ...(hint !== undefined && { hint }) }
  const text = json
    ? displayText({ error }, { limit: Infinity })
    : [
        `${error.code}: ${displayText(error.message, { lines: true })}`,
        ...(hint ? [`  ${displayText(hint)}`] : []),
      ].join('\n')
  process.stderr.write(`${text}\n`)
  return error.code === 'invalid-usage' ? exitCodes.usage : exitCodes.failed
}

/** The reader of a pipe has gone, as with `provost show ID | head`. A run is stopped; otherwise nothing is left to do. */
function endOfReader(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error
  if (!readerGone()) process.exit()
}
