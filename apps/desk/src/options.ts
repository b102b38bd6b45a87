import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'

import { DeskError } from './fault.ts'

export interface Options {
  readonly help: boolean
  readonly json: boolean
  readonly fresh: boolean
  /** Without it nothing is stopped, and what would have been is said. */
  readonly policy: boolean
  readonly mail: string
  readonly data: string
  readonly model: string | undefined
  readonly only: readonly string[]
}

const app = join(import.meta.dirname, '..')

export const help: string = `Provost desk: a support desk that reads mails, looks up orders, refunds and drafts replies.

  npm start -- [options]

  --mail DIR         the .eml files to handle (default: the samples in apps/desk/mail)
  --only NAME        handle this file only; may be given several times
  --data DIR         customers, orders and the outbox (default: apps/desk/.data, made on first use)
  --fresh            start over: restore the sample orders and empty the outbox
  --model NAME       provider/model, such as anthropic/claude-sonnet-5, openai/gpt-5.4, ollama/llama3.2, or offline
  --no-policy        stop nothing, and say what would have been stopped
  --json             write every event as one line of JSON to stdout, everything else to stderr
  --help             show this

Without --model the environment decides: ANTHROPIC_API_KEY, OPENAI_BASE_URL (any OpenAI-compatible server), OPENAI_API_KEY,
AI_GATEWAY_API_KEY, then a local Ollama if one answers; else a rule-based offline model, which says so in the first line.
NO_COLOR turns colours off. Ctrl-C ends the mail at hand cleanly.

Exit code: 0, 1 if no mail could be handled, 2 if started wrongly, 130 after Ctrl-C.
`

/**
 * Reads the command line.
 *
 * @throws DeskError of kind `usage`, naming what is wrong.
 */
export function parseOptions(args: readonly string[]): Options {
  const { values, tokens } = parseArgs({
    args: [...args],
    options: known,
    strict: false,
    tokens: true,
    allowPositionals: true,
  })
  for (const token of tokens) {
    if (token.kind === 'positional') throw usage(`Nothing is to be done with ${JSON.stringify(token.value)}`)
    if (token.kind !== 'option') continue
    const option = Object.hasOwn(known, token.name) ? known[token.name] : undefined
    if (!option) throw usage(`There is no option ${token.rawName}`)
    if (option.type === 'boolean' && token.value !== undefined) throw usage(`${token.rawName} takes no value`)
    if (option.type === 'string' && !token.value) throw usage(`${token.rawName} needs a value`)
    if (option.type === 'string' && !token.inlineValue && token.value?.startsWith('-'))
      throw usage(
        `${token.rawName} needs a value (a value that starts with a dash is written ${token.rawName}=${token.value})`,
      )
  }
  const text = (name: string): string | undefined => {
    const value = values[name]
    return typeof value === 'string' ? value : undefined
  }
  const only = Array.isArray(values['only']) ? values['only'] : []
  return {
    help: values['help'] === true,
    json: values['json'] === true,
    fresh: values['fresh'] === true,
    policy: values['no-policy'] !== true,
    mail: resolve(text('mail') ?? join(app, 'mail')),
    data: resolve(text('data') ?? join(app, '.data')),
    model: text('model'),
    only: only.flatMap((value) => (typeof value === 'string' ? [value] : [])),
  }
}

const known: Readonly<
  Record<string, { readonly type: 'string' | 'boolean'; readonly short?: string; readonly multiple?: boolean }>
> = {
  mail: { type: 'string' },
  data: { type: 'string' },
  model: { type: 'string' },
  only: { type: 'string', multiple: true },
  json: { type: 'boolean' },
  fresh: { type: 'boolean' },
  'no-policy': { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
}

function usage(problem: string): DeskError {
  return new DeskError('usage', `${problem}. --help lists the options.`)
}
