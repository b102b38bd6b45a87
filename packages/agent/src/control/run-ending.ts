import { types } from 'node:util'

import { ProvostError, toErrorInfo } from '@provost/core'

import type { RunContext } from '../types/run-context.ts'
import { RunEnding } from '../types/run-ending.ts'
import { report } from './report.ts'

/** Returns the ending that a hook's `stop` requests. */
export function stopped(answer: { readonly stop: { readonly code: string; readonly message: string } }): RunEnding {
  return new RunEnding('failed', { code: answer.stop.code, message: answer.stop.message })
}

/** Ends the run if it was aborted. */
export function stopIfAborted(ctx: RunContext): void {
  if (ctx.signal.aborted) throw new RunEnding('aborted')
}

/**
 * Handles an error of a hook that decides: the run fails closed.
 *
 * @returns the ending to throw.
 */
export function hookFailed(ctx: RunContext, extension: string, hook: string, thrown: unknown): RunEnding {
  if (isRunEnding(thrown)) return thrown
  // A hook that stops on its signal has not failed.
  if (ctx.signal.aborted) return new RunEnding('aborted')
  report(ctx, thrown, { kind: 'hook', name: extension })
  const error = new ProvostError(
    'hook-failed',
    `The ${hook} hook of ${extension} threw: ${toErrorInfo(thrown).message}`,
    {
      hint: 'Fix the extension; its hooks fail closed.',
      cause: thrown,
    },
  )
  return new RunEnding('failed', error.toJSON(), error)
}

/** Whether a hook threw the ending of the run. A revoked proxy has no prototype to compare. */
function isRunEnding(thrown: unknown): thrown is RunEnding {
  return !types.isProxy(thrown) && thrown instanceof RunEnding
}
