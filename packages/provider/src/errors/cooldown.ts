import type { ErrorClass, OneModel, Timestamp } from '@provost/core'
import { systemClock } from '@provost/core'

import type { AnyModel } from '../models/model-v3.ts'
import { identityOf } from '../models/same-model.ts'
import type { ModelError } from './model-error.ts'

/** Why a model is left alone, and for how long. */
export interface CooldownState {
  readonly class: ErrorClass
  /** Milliseconds from now. */
  readonly ms: number
}

interface Cooldown {
  readonly class: ErrorClass
  readonly until: Timestamp
  /** Failures in a row, each after the rest that followed the one before. */
  readonly failures: number
  /** Until when the one call that may find out has the right to. */
  readonly probedUntil: Timestamp
}

const firstRestMs = 5000
/** The longest interval between two trial calls, whatever the provider asks for. */
const longestRestMs = 600_000
/** The time after which a trial call without a result no longer blocks others. */
const probeMs = 30_000

/** The cooldowns of this process. A cache, which only saves calls that would fail. */
const rests = new WeakMap<object, Cooldown>()

/** A model answered: one that was asked after its rest is well again. */
export function recordSuccess(model: AnyModel, startedAt: Timestamp): void {
  const identity = identityOf(model)
  const rest = rests.get(identity)
  // A response to an earlier request says nothing about the current state.
  if (rest && startedAt >= rest.until) rests.delete(identity)
}

/** A call failed: a model that has no room for it rests, for any other reason it may be asked again. */
export function recordFailure(
  model: AnyModel,
  fault: ModelError | undefined,
  startedAt: Timestamp,
  now: Timestamp,
): void {
  const identity = identityOf(model)
  const rest = rests.get(identity)
  if (fault?.class !== 'rate-limit' && fault?.class !== 'capacity') {
    if (rest && startedAt >= rest.until) rests.set(identity, { ...rest, probedUntil: 0 })
    return
  }
  // Calls that were under way together fail together: that is one failure.
  const again = rest !== undefined && startedAt >= rest.until
  const failures = rest ? rest.failures + (again ? 1 : 0) : 1
  const until = now + cooldownMs(fault, failures)
  rests.set(identity, {
    class: fault.class,
    until: rest && !again ? Math.max(rest.until, until) : until,
    failures,
    probedUntil: 0,
  })
}

function cooldownMs({ retryAfterMs }: ModelError, failures: number): number {
  return Math.min(retryAfterMs ?? firstRestMs * 2 ** (failures - 1), longestRestMs)
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
  const rest = rests.get(identityOf(model))
  if (!rest) return undefined
  const ms = Math.max(rest.until, rest.probedUntil) - now
  return ms > 0 ? { class: rest.class, ms } : undefined
}

/** Takes the right to find out whether a model that has rested answers again. */
export function probe(model: OneModel, now: Timestamp): void {
  const identity = identityOf(model)
  const rest = rests.get(identity)
  if (rest) rests.set(identity, { ...rest, probedUntil: now + probeMs })
}
