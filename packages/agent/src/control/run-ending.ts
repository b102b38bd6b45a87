import { types } from 'node:util'

import type { Extension, Stop } from '@provost/core'
import { ProvostError, toErrorInfo } from '@provost/core'

import type { RunContext } from '../types/run-context.ts'
import { RunEnding } from '../types/run-ending.ts'

/** Returns the ending that the `stop` of an extension's hook requests. */
export function stopped({ stop }: Stop, { name }: Extension): RunEnding {
  const { code, message, hint = `The extension ${name} ended the run: check its options.` } = stop
  return new RunEnding('failed', { code, message, hint }, undefined, { kind: 'hook', name })
}

/** Ends the run if it was aborted. */
export function stopIfAborted(ctx: RunContext): void {
  if (ctx.control.isAborted) throw new RunEnding('aborted')
}

/**
 * Returns the ending of the run for an error of a hook that decides: the run fails closed. The end of the run reports it.
 */
export function hookFailed(ctx: RunContext, extension: string, hook: string, thrown: unknown): RunEnding {
  const ending = endingIn(thrown)
  if (ending) return ending
  // A hook that stops on its signal has not failed.
  if (ctx.control.isAborted) return new RunEnding('aborted')
  const error = new ProvostError(
    'hook-failed',
    `The ${hook} hook of ${extension} threw: ${toErrorInfo(thrown).message}`,
    {
      hint: 'Fix the extension; its hooks fail closed.',
      cause: thrown,
    },
  )
  return new RunEnding('failed', error.toJSON(), error, { kind: 'hook', name: extension })
}

/** Returns the ending of the run that a hook threw, itself or as the cause of its error. */
function endingIn(thrown: unknown): RunEnding | undefined {
  // A revoked proxy has no prototype to compare.
  if (types.isProxy(thrown) || !(thrown instanceof Error)) return undefined
  if (thrown instanceof RunEnding) return thrown
  return thrown instanceof ProvostError ? endingIn(thrown.cause) : undefined
}
