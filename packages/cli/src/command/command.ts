import type { Terminal } from './terminal.ts'

/** The values that an argument or an option takes. Default: any text. */
interface Accepted {
  readonly oneOf?: readonly string[]
  /** A whole number from the first to the second one. */
  readonly range?: readonly [from: number, to: number]
}

/** An argument of a command, in the order of the command line. */
export interface ArgumentSpec extends Accepted {
  readonly name: string
  readonly text: string
  readonly optional?: true
}

/** An option of a command. With `value` it takes a text, which has this name in the help; without, it is a flag. */
export interface OptionSpec extends Accepted {
  readonly value?: string
  readonly text: string
}

/** A command as the table lists it. Its code is loaded when it is executed. */
export interface Command {
  readonly name: string
  /** One line for the list of commands. */
  readonly summary: string
  readonly arguments: readonly ArgumentSpec[]
  readonly options: Readonly<Record<string, OptionSpec>>
  /** What the help says below the options. */
  readonly notes?: readonly string[]
  /** Command lines, without `provost`. */
  readonly examples: readonly string[]
  readonly load: () => Promise<Execute>
}

/** A command that reads its own arguments and has its own help. */
export interface OuterCommand {
  readonly name: string
  readonly summary: string
  readonly load: () => Promise<(args: readonly string[]) => Promise<number>>
  readonly readsArguments: true
}

/** How the process ends. A run that a signal stopped ends with 128 and the number of the signal. */
export const exitCodes = {
  /** Done. */
  ok: 0,
  /** The operation failed. */
  failed: 1,
  /** The command line is invalid. */
  usage: 2,
  /** The run waits for an answer from outside. */
  suspended: 3,
} as const

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes]

/** The parsed command line of one command. */
export interface Invocation {
  /** Returns a required argument. */
  argument(name: string): string
  /** Returns an optional argument, or an option with a value. */
  value(name: string): string | undefined
  /** Returns an option with a `range`. */
  number(name: string): number | undefined
  flag(name: string): boolean
  readonly terminal: Terminal
}

/** The code of a command. */
export type Execute = (given: Invocation) => Promise<number>
