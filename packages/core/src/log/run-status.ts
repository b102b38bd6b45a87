import type { Json } from '../values/json.ts'

/** The principal that a run acts for. */
export interface Principal {
  readonly id: string
  readonly roles?: readonly string[]
  readonly claims?: Json
}

/** How a run ended, or that it waits for an answer: `suspended`. */
export type RunStatus = 'completed' | 'suspended' | 'failed' | 'aborted'

/**
 * The status of a session. `running`: a store's list also shows it for a session whose process has died. A session object
 * is `running` only while the run is active in this process, and otherwise `suspended`. `quarantined`: shown in a store's
 * list for a session whose run made several processes in a row die; an operator releases it.
 */
export type SessionStatus = 'idle' | 'running' | 'suspended' | 'failed' | 'closed' | 'quarantined'
