import { type CallFlow, type Json, untrustedLabel } from '@provost/core'

import type { GuestCall } from '../engine/bridge-frame.ts'
import type { Limits } from '../worker/limits.ts'
import { parseClean, writeClean } from './clean-json.ts'
import { cut, isCode } from './sandbox-error.ts'
import type { ScriptCall, ScriptTool } from './sandbox-options.ts'
import { type ResultLabel, specOf, splitFollowed, writeLabelled } from './value-flow.ts'

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

function failure(message: unknown, code: unknown, limits: Limits, stop?: string, label?: ResultLabel): string {
  const text = typeof message === 'string' ? message : 'The call failed.'
  return JSON.stringify({
    message: cut(text, limits.errorBytes),
    code: typeof code === 'string' ? cut(code, 100) : 'tool-error',
    stop: stop ?? (typeof code === 'string' && isCode(code) ? code : 'tool-error'),
    ...(label && { label: specOf(label) }),
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
  readonly followsValues: boolean
  answer(reply: Reply): void
}): CallQueue {
  const { names, tools, limits, followsValues, answer } = options
  const waiting: GuestCall[] = []
  let running = 0
  let open = 0
  let most = limits.parallelCalls
  /** Created with the first call: many scripts make none, and a signal is expensive. */
  let calling: AbortController | undefined

  const make = async ({ id, tool, args }: GuestCall): Promise<{ ok: boolean; json: string }> => {
    const name = names[tool] ?? ''
    let own: ResultLabel = { label: untrustedLabel(name) }
    const failed = (message: unknown, code: unknown, stop?: string) => ({
      ok: false,
      json: failure(message, code, limits, stop, followsValues ? own : undefined),
    })
    try {
      let bytes = bytesOf(args, limits.argBytes)
      // The labels of the arguments do not count.
      if (bytes > limits.argBytes && followsValues)
        bytes = Buffer.byteLength(writeClean(splitFollowed(parseClean(args)).value))
      if (bytes > limits.argBytes) {
        return failed(tooLarge(name, 'arguments', bytes, limits.argBytes), undefined, 'argument-size')
      }
      const execute = Object.hasOwn(tools, name) ? tools[name] : undefined
      if (!execute) return failed(`There is no tool ${cut(name, 100)}.`, 'no-such-tool')
      const parsed = parseClean(args)
      const { value, flow }: { value: Json; flow?: CallFlow } = followsValues
        ? splitFollowed(parsed)
        : { value: parsed }
      const call: ScriptCall = {
        id,
        signal: (calling ??= new AbortController()).signal,
        ...(flow && { flow }),
        label: (label, fields, endorses) => (own = { label, fields, endorses }),
      }
      const json = writeClean(await execute(value, call))
      const size = bytesOf(json, limits.replyBytes)
      if (size <= limits.replyBytes) return { ok: true, json: followsValues ? writeLabelled(json, own) : json }
      return failed(`${tooLarge(name, 'result', size, limits.replyBytes)} Ask for less.`, undefined, 'reply-size')
    } catch (error) {
      const { message, code } = wordsOf(error)
      return failed(message, code)
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
