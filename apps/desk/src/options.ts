import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'

import { DeskError } from './fault.ts'

export interface Options {
  readonly help: boolean
  readonly json: boolean
  /** No console beside the desk. */
  readonly text: boolean
  readonly fresh: boolean
  /** When false, no call is stopped; the view shows what would have been. */
  readonly policy: boolean
  /** Destination of traces and metrics, if any. */
  readonly trace: TraceTask | undefined
  /** The model writes scripts that call the tools. */
  readonly codeMode: boolean
  /** Refunds go through a bank that loses its first reply. The bank can be asked, or else a human is. */
  readonly loseReplies: 'lookup' | 'ask' | undefined
  readonly mail: string
  readonly data: string
  readonly model: string | undefined
  readonly only: readonly string[]
  /** Three of the samples, each with a title, and one of them with a process that is killed. */
  readonly tour: boolean
  /** The port to listen on, instead of handling mails. */
  readonly serve: number | undefined
  /** The operation on sessions of earlier starts, instead of handling mails. */
  readonly session: SessionTask | undefined
  /** The command that starts the desk again with the same mails, data and model. */
  readonly command: string
}

/** Answers to what a session waits for: an approval, or the question whether a call took place. */
export type Decision = 'approve' | 'deny' | 'done' | 'redo'

/** Operations on open sessions: list them, or resume one, optionally with a decision. */
export type SessionTask = { readonly op: 'list' } | { readonly op: 'resume' | Decision; readonly id: string }

/** Traces are printed, drawn into a file, or sent to a collector at a URL. */
export type TraceTask =
  | { readonly to: 'terminal' }
  | { readonly to: 'picture'; readonly file: string }
  | { readonly to: 'collector'; readonly url: URL }

const app = join(import.meta.dirname, '..')

export const help: string = `Provost desk: a support desk that reads mails, looks up orders, refunds and drafts replies.

  npm start -- [options]

Without options it shows three of the samples: one with hidden orders, one that needs approval, one whose process is killed.

  --all              all samples
  --mail DIR         all .eml files of a folder instead of the samples in apps/desk/mail
  --only NAME        this file only; may be given several times
  --data DIR         customers, orders and the outbox (default: apps/desk/.data, created on first use)
  --fresh            start over: restore the sample orders, empty the outbox, delete the sessions
  --model NAME       provider/model, such as anthropic/claude-sonnet-5, openai/gpt-5.4, ollama/llama3.2, or offline
  --no-policy        stop no call, and show what the policy would stop
  --code-mode        let the model call its tools in scripts; a session keeps the mode it started with
  --lose-replies     pay refunds through a bank whose first reply is lost, look the payment up, and show what was paid
  --lose-replies=ask the same with a bank that cannot be asked: you are, whether the payment took place
  --sessions         list open sessions: waiting for approval, interrupted, failed
  --resume ID        resume an open session; completed work is not repeated
  --approve ID       approve the pending call of a session and resume it; --deny ID denies the call
  --done ID          a call of unknown outcome took place: resume its session; --redo ID: it did not, so it is made again
  --trace            show the spans of each mail as a tree
  --picture FILE     draw the spans as an SVG, with each attribute at its first span
  --otel URL         send traces and metrics to an OpenTelemetry collector (OTLP over HTTP, such as http://localhost:4318)
  --serve            answer over HTTP at 127.0.0.1 instead, until Ctrl-C; --port N chooses the port (default: 8080)
  --text             the terminal only; otherwise a terminal also gets the address of the console, which stays open until Ctrl-C
  --json             write every event as one line of JSON to stdout, everything else to stderr
  --help             show this

Without --model the environment selects: ANTHROPIC_API_KEY, OPENAI_BASE_URL (any OpenAI-compatible server), OPENAI_API_KEY,
AI_GATEWAY_API_KEY, then a local Ollama if one answers. Otherwise it is a rule-based offline model, named in the first line.
NO_COLOR turns colours off. Ctrl-C interrupts the current mail; --resume continues it, also after a kill.

Exit code: 0, 1 if no mail could be handled, 2 for a usage error, 130 after Ctrl-C.
`

/**
 * Parses the command line.
 *
 * @throws DeskError of kind `usage` with the invalid part.
 */
export function parseOptions(args: readonly string[]): Options {
  const { values, tokens } = parseArgs({
    args: [...args],
    options: known,
    strict: false,
    tokens: true,
    allowPositionals: true,
  })
  const given = new Set<string>()
  for (const token of tokens) {
    if (token.kind === 'positional') throw usage(`Unexpected argument ${JSON.stringify(token.value)}`)
    if (token.kind !== 'option') continue
    const option = Object.hasOwn(known, token.name) ? known[token.name] : undefined
    if (!option) throw usage(`There is no option ${token.rawName}`)
    if (token.name === 'lose-replies') {
      given.add(token.name)
      continue
    }
    if (option.type === 'boolean' && token.value !== undefined) throw usage(`${token.rawName} takes no value`)
    if (option.type === 'string' && !option.multiple && given.has(token.name))
      throw usage(`${token.rawName} is given twice`)
    given.add(token.name)
    if (option.type === 'string' && !token.value) throw usage(`${token.rawName} needs a value`)
    if (option.type === 'string' && !token.inlineValue && token.value?.startsWith('-'))
      throw usage(
        `${token.rawName} needs a value (a value that starts with a dash is written ${token.rawName}=${token.value})`,
      )
  }
  checkTogether(given)
  const text = (name: string): string | undefined => {
    const value = values[name]
    return typeof value === 'string' ? value : undefined
  }
  const only = Array.isArray(values['only']) ? values['only'] : []
  return {
    help: values['help'] === true,
    json: values['json'] === true,
    text: values['text'] === true,
    fresh: values['fresh'] === true,
    policy: values['no-policy'] !== true,
    trace: traceTask(values['trace'] === true, text),
    codeMode: values['code-mode'] === true,
    loseReplies: bankIn(values['lose-replies']),
    mail: resolve(text('mail') ?? join(app, 'mail')),
    data: resolve(text('data') ?? join(app, '.data')),
    model: text('model'),
    only: only.flatMap((value) => (typeof value === 'string' ? [value] : [])),
    tour: !['all', 'mail', 'only', 'lose-replies', ...tasks].some((name) => given.has(name)),
    serve: values['serve'] === true ? portIn(text('port')) : undefined,
    session: sessionTask(values['sessions'] === true, text),
    command: [
      'npm start --',
      ...['mail', 'data', 'model'].flatMap((name) => again(name, text(name))),
      ...(values['code-mode'] === true ? ['--code-mode'] : []),
    ].join(' '),
  }
}

function traceTask(here: boolean, text: (name: string) => string | undefined): TraceTask | undefined {
  const [url, file] = [text('otel'), text('picture')]
  if ([here, url !== undefined, file !== undefined].filter(Boolean).length > 1)
    throw usage('--trace, --picture and --otel cannot be combined')
  if (here) return { to: 'terminal' }
  if (file !== undefined) return { to: 'picture', file: resolve(file) }
  if (url === undefined) return undefined
  const parsed = URL.parse(url)
  if (parsed?.protocol !== 'http:' && parsed?.protocol !== 'https:')
    throw usage(`--otel needs the URL of a collector, such as http://localhost:4318, not ${JSON.stringify(url)}`)
  return { to: 'collector', url: parsed }
}

/** An option in the form of the command line. */
function again(name: string, value: string | undefined): readonly string[] {
  if (value === undefined) return []
  return [`--${name}=${/^[\w./:-]+$/.test(value) ? value : `'${value.replaceAll("'", `'\\''`)}'`}`]
}

function sessionTask(list: boolean, text: (name: string) => string | undefined): SessionTask | undefined {
  if (list) return { op: 'list' }
  for (const op of ['resume', 'approve', 'deny', 'done', 'redo'] as const) {
    const id = text(op)
    if (id !== undefined) return { op, id }
  }
  return undefined
}

/** Tasks other than handling mails. */
const tasks = ['serve', 'sessions', 'resume', 'approve', 'deny', 'done', 'redo']

/** Options that conflict with a task or have no effect on it. */
const idle: Readonly<Record<string, readonly string[]>> = {
  all: ['mail', 'only', ...tasks],
  only: tasks,
  fresh: ['sessions', 'resume', 'approve', 'deny', 'done', 'redo'],
  json: ['serve', 'sessions'],
  text: ['serve', 'sessions'],
  trace: ['serve', 'sessions'],
  picture: ['sessions'],
  otel: ['sessions'],
  'no-policy': ['sessions'],
  'lose-replies': tasks,
}

/** Rejects combinations in which an option would be ignored. */
function checkTogether(given: ReadonlySet<string>): void {
  const asked = tasks.filter((task) => given.has(task))
  if (asked.length > 1)
    throw usage('--serve, --sessions, --resume, --approve, --deny, --done and --redo cannot be combined')
  if (given.has('port') && !given.has('serve')) throw usage('--port needs --serve')
  for (const [option, without] of Object.entries(idle)) {
    const task = given.has(option) && without.find((one) => given.has(one))
    if (task) throw usage(`--${option} and --${task} cannot be combined: remove one of them`)
  }
}

const known: Readonly<
  Record<string, { readonly type: 'string' | 'boolean'; readonly short?: string; readonly multiple?: boolean }>
> = {
  mail: { type: 'string' },
  data: { type: 'string' },
  model: { type: 'string' },
  only: { type: 'string', multiple: true },
  all: { type: 'boolean' },
  sessions: { type: 'boolean' },
  resume: { type: 'string' },
  approve: { type: 'string' },
  deny: { type: 'string' },
  done: { type: 'string' },
  redo: { type: 'string' },
  serve: { type: 'boolean' },
  port: { type: 'string' },
  json: { type: 'boolean' },
  text: { type: 'boolean' },
  fresh: { type: 'boolean' },
  'no-policy': { type: 'boolean' },
  trace: { type: 'boolean' },
  otel: { type: 'string' },
  picture: { type: 'string' },
  'code-mode': { type: 'boolean' },
  'lose-replies': { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
}

function bankIn(value: unknown): Options['loseReplies'] {
  if (value === undefined) return undefined
  if (value === true) return 'lookup'
  if (value === 'ask') return 'ask'
  throw usage(`--lose-replies takes no value, or ask: ${JSON.stringify(value)}`)
}

function portIn(text = '8080'): number {
  const port = Number(text)
  if (Number.isInteger(port) && port >= 0 && port < 65_536) return port
  throw usage(`${JSON.stringify(text)} is not a port`)
}

function usage(problem: string): DeskError {
  return new DeskError('usage', `${problem}. --help lists the options.`)
}
