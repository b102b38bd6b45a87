import type { ErrorSource, Extension } from '@provost/core'
import { isPromise, toErrorInfo } from '@provost/core'

import type { Reaction } from '../types/log.ts'
import type { RunContext } from '../types/run-context.ts'

/** Emits an error that does not end the run. */
export function report(ctx: RunContext, thrown: unknown, source: ErrorSource, by?: Reaction): void {
  ctx.logWriter.emit('agent.error', { error: toErrorInfo(thrown), source }, ctx.step, by)
}

/** Calls an observer. Its errors are reported and do not disturb the run. */
export function observe(ctx: RunContext, extension: Extension, by: Reaction, call: () => unknown): void {
  const failed = (thrown: unknown): void => report(ctx, thrown, { kind: 'hook', name: extension.name }, by)
  try {
    const answer = call()
    if (isPromise(answer)) answer.then(undefined, failed)
  } catch (thrown) {
    failed(thrown)
  }
}
