import type { Json } from '../values/json.ts'

/** On whose behalf a run acts. */
export interface Principal {
  readonly id: string
  readonly roles?: readonly string[]
  readonly claims?: Json
}

/** How a run ended, or that it waits for somebody: `suspended`. */
export type RunStatus = 'completed' | 'suspended' | 'failed' | 'aborted'

/**
 * How a session stands. `running`: in the list of a store also one whose process has died; of a session object only while the
 * run goes on in this process, else it is `suspended` there. `quarantined`: in the list of a store, a session whose run
 * brought down process after process; an operator releases it.
 */
export type SessionStatus = 'idle' | 'running' | 'suspended' | 'failed' | 'closed' | 'quarantined'
