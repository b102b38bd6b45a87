import { AsyncLocalStorage } from 'node:async_hooks'

import type { SpanContext } from '@opentelemetry/api'

/** The run for which the current code works. */
export interface RunInContext {
  readonly runId: string
  readonly sessionId: string
  readonly agent: string
  /** Returns a text without the values of the secrets that the run knows. */
  scrub(text: string): string
  /** The span of the run, where it is traced. */
  readonly span?: SpanContext
}

const storage = new AsyncLocalStorage<RunInContext>()

/** Runs `fn` for a run: its log lines name the run. */
export function withinRun<T>(run: RunInContext, fn: () => T): T {
  return storage.run(run, fn)
}

/** Returns the run for which the current code works, if a telemetry extension has seen it. */
export function currentRun(): RunInContext | undefined {
  return storage.getStore()
}
