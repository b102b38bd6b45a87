import type { ErrorSource, Extension } from '@provost/core'
import { isPromise, toErrorInfo } from '@provost/core'

import type { Reaction } from '../types/log.ts'
import type { RunContext } from '../types/run-context.ts'
import { RunEnding } from '../types/run-ending.ts'
import { sourceOf } from './failure-source.ts'

/**
 * Emits an error that does not end the run.
 *
 * @param what the function that threw, for the hint. Default: its source.
 */
export function report(
  ctx: RunContext,
  thrown: unknown,
  source: ErrorSource,
  by?: Reaction,
  what: string = `the ${source.kind} ${source.name}`,
): void {
  const error = { hint: `Correct ${what}.`, ...toErrorInfo(thrown, codes[source.kind]) }
  ctx.logWriter.emit('agent.error', { error, source }, ctx.step, by)
}

/** The codes of what is thrown and is no `ProvostError`. */
const codes: Readonly<Record<ErrorSource['kind'], string>> = {
  model: 'model-failed',
  tool: 'tool-failed',
  hook: 'hook-failed',
  extension: 'init-failed',
  orchestrator: 'orchestrator-failed',
  listener: 'callback-failed',
  store: 'store-failed',
  loop: 'unexpected',
}

/** Reports the ending of a run where the run goes on after all. */
export function reportEnding(ctx: RunContext, thrown: unknown): void {
  const error = thrown instanceof RunEnding ? (thrown.thrown ?? thrown) : thrown
  report(ctx, error, sourceOf(thrown) ?? { kind: 'loop', name: ctx.agent.name })
}

/** Calls an observer. Its errors are reported and do not disturb the run. */
export function observe(ctx: RunContext, extension: Extension, by: Reaction, call: () => unknown): void {
  const failed = (thrown: unknown): void =>
    report(ctx, thrown, { kind: 'hook', name: extension.name }, by, `the event hook of ${extension.name}`)
  try {
    const answer = call()
    if (isPromise(answer)) answer.then(undefined, failed)
  } catch (thrown) {
    failed(thrown)
  }
}
