import type { OptionSpec } from './command.ts'

type Options = Readonly<Record<string, OptionSpec>>

/** The options of every command. */
export const commonOptions: Options = {
  json: { text: 'Writes JSON lines to stdout; an error is a JSON line on stderr.' },
  help: { text: 'Shows this help.' },
}

/** The option of every command that uses a store. */
export const storeOption: Options = {
  store: {
    value: 'STORE',
    text: 'Path of an SQLite file, jsonl:DIR or postgres://…; default PROVOST_STORE, then .provost/sessions.db.',
  },
}

/** The option of every command that decides. */
export const byOption: Options = {
  by: { value: 'NAME', text: 'Who decides, as the log records it. Default: the user of the operating system.' },
}

/** The option of every command that takes over a run. */
export const waitOption: Options = {
  wait: {
    value: 'SECONDS',
    range: [0, 86_400],
    text: 'How long to wait for a process that has the run, or that died with it. Default 60.',
  },
}

/** The option of every command that runs an agent in the terminal. */
export const traceOption: Options = {
  trace: { text: 'Shows the spans of the run as a tree, at its end. Needs the package @opentelemetry/api.' },
}
