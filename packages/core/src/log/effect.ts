/**
 * Where an effect key is unique: in one session with its forks, for one principal, or for all users of one agent. `run` is
 * the runtime's own, for calls without a key: in one run with its children.
 */
export type EffectScope = 'run' | 'session' | 'principal' | 'agent'

/**
 * What is known of an effect:
 *
 * - `dispatched`: the tool runs, or its process died.
 * - `confirmed`: it took place.
 * - `failed`: it did not take place.
 * - `unknown`: the call ended without an answer: a time-out, an abort, a lost connection, a crash.
 * - `compensated`: it took place and was undone.
 */
export type EffectState = 'dispatched' | 'confirmed' | 'failed' | 'unknown' | 'compensated'

/** What finds out about an effect: the call itself, the `lookup` of its tool, or a human. */
export type EffectSource = 'call' | 'lookup' | 'human'

/** The effect that a call may cause, as its `started` entry records it. */
export interface EffectMark {
  /** What the `effectKey` of the tool returned. Absent: the call has no key, and repeats one whose outcome is unknown. */
  readonly key?: string
  readonly scope: EffectScope
  /** Id of the session, principal or run, or name of the agent. */
  readonly scopeId: string
  /** Counts the calls that were allowed to cause the effect, from 1. */
  readonly attempt: number
  /** What the tool receives as its idempotency key. */
  readonly idempotencyKey: string
  /** What found that the attempt before did not take effect. Absent for the first attempt. */
  readonly clearedBy?: EffectSource
}

/** The state of an effect when a call was started, ended or asked about. It names no person and no idempotency key. */
export interface EffectStatus extends Pick<EffectMark, 'key' | 'scope' | 'attempt' | 'clearedBy'> {
  readonly state: EffectState
  /** What found out about the state. */
  readonly by: EffectSource
}
