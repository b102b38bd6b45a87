import type { ErrorClass, OneModel, Timestamp } from '@provost/core'
import { systemClock } from '@provost/core'

import type { AnyModel } from '../models/model-v3.ts'
import { identityOf } from '../models/same-model.ts'
import type { ModelError } from './model-error.ts'

/** Why a model is in cooldown, and for how long. */
export interface CooldownState {
  readonly class: ErrorClass
  /** Milliseconds from now. */
  readonly ms: number
}

interface Cooldown {
  readonly class: ErrorClass
  readonly until: Timestamp
  /** Failures in a row, each after the cooldown of the one before. */
  readonly failures: number
  /** The end of the time in which one trial call excludes others. */
  readonly probedUntil: Timestamp
}

const firstCooldownMs = 5000
/** The longest interval between two trial calls, whatever the provider asks for. */
const longestCooldownMs = 600_000
/** The time after which a trial call without a result no longer blocks others. */
const probeMs = 30_000

/** The cooldowns of this process. A cache, which only saves calls that would fail. */
const cooldowns = new WeakMap<object, Cooldown>()

/** Records a response. It ends the cooldown of a model that was called after its time. */
export function recordSuccess(model: AnyModel, startedAt: Timestamp): void {
  const identity = identityOf(model)
  const known = cooldowns.get(identity)
  // A response to an earlier request says nothing about the current state.
  if (known && startedAt >= known.until) cooldowns.delete(identity)
}

/** Records a failure. A rate limit or missing capacity starts a cooldown; other failures end the trial call. */
export function recordFailure(
  model: AnyModel,
  fault: ModelError | undefined,
  startedAt: Timestamp,
  now: Timestamp,
): void {
  const identity = identityOf(model)
  const known = cooldowns.get(identity)
  if (fault?.class !== 'rate-limit' && fault?.class !== 'capacity') {
    if (known && startedAt >= known.until) cooldowns.set(identity, { ...known, probedUntil: 0 })
    return
  }
  // Calls that were under way together fail together: that is one failure.
  const again = known !== undefined && startedAt >= known.until
  const failures = known ? known.failures + (again ? 1 : 0) : 1
  const until = now + cooldownMs(fault, failures)
  cooldowns.set(identity, {
    class: fault.class,
    until: known && !again ? Math.max(known.until, until) : until,
    failures,
    probedUntil: 0,
  })
}

function cooldownMs({ retryAfterMs }: ModelError, failures: number): number {
  return Math.min(retryAfterMs ?? firstCooldownMs * 2 ** (failures - 1), longestCooldownMs)
}

/**
 * Returns the cooldown of a model, if it has one: after a rate limit or missing capacity, for as long as the provider
 * asks (`retry-after`), else for 5 s, doubled with each failure after a cooldown, at most 10 minutes. Then one trial
 * call is permitted. Until it responds, for at most 30 s, the model stays in cooldown for all others.
 *
 * Any call in this process counts, for the same model object or the same name.
 *
 * @param now epoch ms. Default: the time of the machine.
 * @returns `undefined` for a model that may be asked.
 */
export function cooldownOf(model: OneModel, now: Timestamp = systemClock.now()): CooldownState | undefined {
  const known = cooldowns.get(identityOf(model))
  if (!known) return undefined
  const ms = Math.max(known.until, known.probedUntil) - now
  return ms > 0 ? { class: known.class, ms } : undefined
}

/** Begins the trial call of a model after its cooldown. */
export function probe(model: OneModel, now: Timestamp): void {
  const identity = identityOf(model)
  const known = cooldowns.get(identity)
  if (known) cooldowns.set(identity, { ...known, probedUntil: now + probeMs })
}
