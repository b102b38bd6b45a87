import { types } from 'node:util'

import type { ErrorSource } from '@provost/core'
import { ProvostError, toErrorInfo } from '@provost/core'

import { RunEnding } from '../types/run-ending.ts'

/** Where an error object came from. It ends with the object, so it is no state of a run. */
const sources = new WeakMap<object, ErrorSource>()

/** What user code or a store was doing when it threw. */
interface Failing {
  /** The code for anything but a `ProvostError`, which keeps its own. */
  readonly code: string
  /** The subject of the message: `${what} threw: …`. */
  readonly what: string
  readonly hint: string
}

/** Returns the error to throw for what user code or a store threw, and notes its source. */
export function failureOf(thrown: unknown, source: ErrorSource, { code, what, hint }: Failing): Error {
  const known = !types.isProxy(thrown) && (thrown instanceof ProvostError || thrown instanceof RunEnding)
  const error = known
    ? thrown
    : new ProvostError(code, `${what} threw: ${toErrorInfo(thrown).message}`, { hint, cause: thrown })
  if (!sources.has(error)) sources.set(error, source)
  return error
}

/** Returns the error to throw for an error of a store's method. */
export function storeFailure(thrown: unknown, method: 'lease' | 'append' | 'read'): Error {
  return failureOf(
    thrown,
    { kind: 'store', name: method },
    {
      code: 'store-failed',
      what: `The method ${method} of the store`,
      hint: 'Check the store and its connection, then resume the session: it continues from its log.',
    },
  )
}

/**
 * Whether a run stops since a store is away for now. Nothing is wrong with the run: it is left as if its process had died,
 * and another process, or this one later, continues it.
 */
export function isStoreAway(thrown: unknown): boolean {
  let error = thrown
  for (let depth = 0; depth < 5 && !types.isProxy(error); depth++) {
    if (error instanceof RunEnding) error = error.thrown
    else if (!(error instanceof ProvostError)) return false
    else if (error.retryable && (error.code === 'store-unreachable' || error.code === 'store-busy')) return true
    else error = error.cause
  }
  return false
}

/** Returns the error to throw for an error of a function that the application gave to the agent or the run. */
export function callbackFailure(thrown: unknown, name: string): Error {
  return failureOf(
    thrown,
    { kind: 'listener', name },
    { code: 'callback-failed', what: name, hint: `Correct ${name}. An error that it throws ends the run.` },
  )
}

/** Returns the source of the error that ended a run; undefined if the runtime itself ended it. */
export function sourceOf(thrown: unknown): ErrorSource | undefined {
  if (typeof thrown !== 'object' || thrown === null) return undefined
  if (types.isProxy(thrown) || !(thrown instanceof RunEnding)) return sources.get(thrown)
  return thrown.source ?? sources.get(thrown) ?? sourceOf(thrown.thrown)
}
