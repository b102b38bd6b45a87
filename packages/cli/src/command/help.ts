import type { Command } from './command.ts'
import { commonOptions } from './common-options.ts'

const exitCodeLines = [
  'Exit codes:',
  '  0  done',
  '  1  the operation failed: the run, a verification, a store',
  '  2  the command line is invalid',
  '  3  the run is suspended: it waits for an answer',
  '  130, 143  a signal stopped the run: Ctrl-C, or SIGTERM',
]

/** Returns the help of all commands. */
export function overview(commands: readonly Pick<Command, 'name' | 'summary'>[]): string {
  return [
    'provost: run and serve agents, look at their sessions, decide what waits.',
    '',
    'Usage: provost COMMAND [arguments] [options]',
    '',
    'Commands:',
    ...columns(commands.map(({ name, summary }) => [name, summary])),
    '',
    'provost COMMAND --help shows the options of a command, provost --version the version.',
    '',
    ...exitCodeLines,
    '',
  ].join('\n')
}

/** Returns the help of one command. */
export function helpOf({ name, summary, arguments: args, options, notes = [], examples }: Command): string {
  const usage = args.map((one) => (one.optional ? `[${one.name}]` : one.name))
  return [
    `Usage: provost ${[name, ...usage].join(' ')} [options]`,
    '',
    summary,
    ...(args.length > 0 ? ['', 'Arguments:', ...columns(args.map((one) => [one.name, one.text]))] : []),
    '',
    'Options:',
    ...columns(
      Object.entries({ ...options, ...commonOptions }).map(([option, { value, text }]) => [
        value ? `--${option} ${value}` : `--${option}`,
        text,
      ]),
    ),
    ...(notes.length > 0 ? ['', ...notes] : []),
    '',
    'Examples:',
    ...examples.map((example) => `  provost ${example}`),
    '',
    ...exitCodeLines,
    '',
  ].join('\n')
}

function columns(rows: readonly (readonly [string, string])[]): readonly string[] {
  const width = Math.max(...rows.map(([left]) => left.length))
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`)
}
