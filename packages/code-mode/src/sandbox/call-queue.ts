import type { GuestCall } from '../engine/bridge-frame.ts'
import type { Limits } from '../worker/limits.ts'
import { parseClean, writeClean } from './clean-json.ts'
import { cut, isCode } from './sandbox-error.ts'
import type { ScriptTool } from './sandbox-options.ts'

/** The outcome of one call, as JSON for the script. */
export interface Reply {
  readonly call: GuestCall
  readonly ok: boolean
  readonly json: string
}

/** Runs the calls of one script in order, a limited number at a time. */
export interface CallQueue {
  add(call: GuestCall): void
  /** Calls without a reply. */
  readonly open: number
  /** Aborts the running calls and starts no others. */
  stop(): void
}

/** The message and code of a thrown value, which may be anything. */
function wordsOf(error: unknown): { readonly message?: unknown; readonly code?: unknown } {
  try {
    if (typeof error !== 'object' || error === null) return { message: String(error) }
    const { message, code }: { readonly message?: unknown; readonly code?: unknown } = error
    return { message, code }
  } catch {
    return {}
  }
}

function failure(message: unknown, code: unknown, limits: Limits, stop?: string): string {
  const text = typeof message === 'string' ? message : 'The call failed.'
  return JSON.stringify({
    message: cut(text, limits.errorBytes),
    code: typeof code === 'string' ? cut(code, 100) : 'tool-error',
    stop: stop ?? (typeof code === 'string' && isCode(code) ? code : 'tool-error'),
  })
}

function tooLarge(name: string, what: string, bytes: number, limit: number): string {
  return `The ${what} of ${name} ${what === 'result' ? 'has' : 'have'} ${bytes} bytes, the limit is ${limit}.`
}

/** Characters of arguments that are parsed in one turn. A script can write many large ones at once. */
const together = 262_144

/** The size of a text in bytes. A text that cannot exceed the limit is only estimated by its length. */
function bytesOf(text: string, limit: number): number {
  return text.length * 3 <= limit ? text.length : Buffer.byteLength(text)
}

export function callQueue(options: {
  readonly names: readonly string[]
  readonly tools: Readonly<Record<string, ScriptTool>>
  readonly limits: Limits
  answer(reply: Reply): void
}): CallQueue {
  const { names, tools, limits, answer } = options
  const waiting: GuestCall[] = []
  let running = 0
  let open = 0
  let most = limits.parallelCalls
  /** Created with the first call: many scripts make none, and a signal is expensive. */
  let calling: AbortController | undefined

  const make = async ({ id, tool, args }: GuestCall): Promise<{ ok: boolean; json: string }> => {
    const name = names[tool] ?? ''
    try {
      const bytes = bytesOf(args, limits.argBytes)
      if (bytes > limits.argBytes) {
        return {
          ok: false,
          json: failure(tooLarge(name, 'arguments', bytes, limits.argBytes), undefined, limits, 'argument-size'),
        }
      }
      const execute = Object.hasOwn(tools, name) ? tools[name] : undefined
      if (!execute) return { ok: false, json: failure(`There is no tool ${cut(name, 100)}.`, 'no-such-tool', limits) }
      const json = writeClean(
        await execute(parseClean(args), { id, signal: (calling ??= new AbortController()).signal }),
      )
      const size = bytesOf(json, limits.replyBytes)
      if (size <= limits.replyBytes) return { ok: true, json }
      return {
        ok: false,
        json: failure(
          `${tooLarge(name, 'result', size, limits.replyBytes)} Ask for less.`,
          undefined,
          limits,
          'reply-size',
        ),
      }
    } catch (error) {
      const { message, code } = wordsOf(error)
      return { ok: false, json: failure(message, code, limits) }
    }
  }

  /** Characters of arguments parsed since the event loop last had a turn. */
  let begun = 0
  let resting = false
  const rest = () => {
    resting = true
    setImmediate(() => {
      resting = false
      begun = 0
      next()
    })
  }

  const next = () => {
    while (running < most) {
      if (resting) return
      const call = waiting.shift()
      if (!call) return
      running++
      begun += call.args.length
      if (begun > together) rest()
      void make(call).then((result) => {
        running--
        open--
        answer({ call, ...result })
        next()
      })
    }
  }

  return {
    add(call) {
      open++
      waiting.push(call)
      next()
    },
    get open() {
      return open
    },
    stop() {
      most = 0
      calling?.abort()
    },
  }
}
