import { AsyncLocalStorage } from 'node:async_hooks'

import type { SpanContext } from '@opentelemetry/api'

/** The run that the code at hand works for. */
export interface RunInContext {
  readonly runId: string
  readonly sessionId: string
  readonly agent: string
  /** A text without the values of the secrets that the run knows. */
  scrub(text: string): string
  /** Of the run, where it is traced. */
  readonly span?: SpanContext
}

const storage = new AsyncLocalStorage<RunInContext>()

/** Runs `fn` for a run: log lines that it writes say so. */
export function withinRun<T>(run: RunInContext, fn: () => T): T {
  return storage.run(run, fn)
}

/** The run that the present code works for, if it does for any that a telemetry extension has seen. */
export function currentRun(): RunInContext | undefined {
  return storage.getStore()
}
