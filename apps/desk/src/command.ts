import type { Writable } from 'node:stream'

import { DeskError, reasonOf } from './fault.ts'
import { type Mailbox, openMailbox } from './mailbox.ts'
import { help, type Options, parseOptions } from './options.ts'
import { tour } from './tour.ts'

/** The parts of a process that a command uses: `process` itself, or a test double. */
export interface Surroundings {
  readonly env: NodeJS.ProcessEnv
  readonly stdin: { readonly isTTY?: boolean }
  readonly stdout: Output
  readonly stderr: Output
}

/** A stream that may be a terminal. */
export type Output = Writable & { readonly isTTY?: boolean; readonly columns?: number; hasColors?(): boolean }

/**
 * Runs the command line. Errors are written to stderr.
 *
 * @returns the exit code.
 */
export async function runCommand(args: readonly string[], io: Surroundings): Promise<number> {
  for (const stream of [io.stdout, io.stderr]) stream.on('error', unlessItsReaderLeft)
  try {
    const options = parseOptions(args)
    if (options.help) {
      io.stdout.write(help)
      return 0
    }
    const mailbox = await openMailbox(options.mail)
    const names = chosen(mailbox, options)
    // Provost and the tools are loaded only for work, so that help and usage errors appear at once.
    const { openDesk } = await import('./start.ts')
    return await openDesk(mailbox, names, options, io)
  } catch (error) {
    const mistake = await mistakeIn(error)
    const text = mistake ?? (error instanceof Error ? (error.stack ?? error.message) : reasonOf(error))
    const { neutralise } = await import('./terminal.ts')
    io.stderr.write(`desk: ${neutralise(text)}\n`)
    return mistake === undefined ? 1 : 2
  }
}

/** Ignores a closed output pipe (`| head`). A working desk receives the error too, and ends. */
function unlessItsReaderLeft(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error
}

/** Returns the message of an error that the user can fix: the desk's own, or Provost's with its hint. */
async function mistakeIn(error: unknown): Promise<string | undefined> {
  if (error instanceof DeskError) return error.kind === 'usage' ? error.message : undefined
  const { ProvostError } = await import('provost')
  return error instanceof ProvostError ? `${error.message} ${error.hint}`.trimEnd() : undefined
}

function chosen({ names, dir }: Mailbox, { only, tour: isTour }: Options): readonly string[] {
  if (isTour) return tour.map(({ mail }) => mail)
  for (const name of only)
    if (!names.includes(name)) throw new DeskError('usage', `There is no ${JSON.stringify(name)} in ${dir}.`)
  return only.length === 0 ? names : names.filter((name) => only.includes(name))
}
