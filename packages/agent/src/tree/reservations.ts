import type { Grant, RunPeers, Spending } from '@provost/core'
import { ProvostError } from '@provost/core'

import { callOf } from '../state/session-state.ts'
import type { Reservations, RunTree } from '../types/run-tree.ts'
import type { SessionState } from '../types/session-state.ts'

/** Zero spending. */
export const noSpending: Spending = Object.freeze({ tokens: 0, toolCalls: 0, cost: 0, steps: 0 })

/** Creates the reservations of a run over its log. After a crash there are none: no call is in progress then. */
export function createReservations(state: SessionState): Reservations {
  const expected = new Map<string, () => boolean>()
  const amounts = new Map<string, Map<string, Partial<Spending>>>()

  /** A tool call is counted once it is decided. */
  function isUndecided(id: string): boolean {
    const stage = state.run && callOf(state.run, id)?.stage
    return stage === 'planned' || stage === 'deferred'
  }

  function prune(): void {
    for (const [id, isCounted] of expected) {
      if (!isCounted()) continue
      expected.delete(id)
      amounts.delete(id)
    }
    for (const id of amounts.keys()) if (!expected.has(id) && !isUndecided(id)) amounts.delete(id)
  }

  return {
    expect: (id, isCounted) => void expected.set(id, isCounted),
    set(id, by, most) {
      if (!expected.has(id) && !isUndecided(id)) {
        throw new ProvostError('unknown-call', `Cannot reserve for the unknown call ${JSON.stringify(id)}.`, {
          hint: 'Reserve in tool.call, for call.callId.',
        })
      }
      const known = amounts.get(id) ?? new Map<string, Partial<Spending>>()
      amounts.set(id, known.set(by, most))
    },
    drop(id) {
      expected.delete(id)
      amounts.delete(id)
    },
    of: (id) => largest(amounts.get(id)?.values() ?? []),
    total() {
      if (amounts.size === 0) return noSpending
      prune()
      let total = noSpending
      for (const by of amounts.values()) total = addSpending(total, largest(by.values()))
      return total
    },
    modelCalls() {
      prune()
      let count = 0
      for (const id of amounts.keys()) if (expected.has(id)) count++
      return count
    },
  }
}

function largest(amounts: Iterable<Partial<Spending>>): Spending {
  let most = noSpending
  for (const { tokens = 0, toolCalls = 0, cost = 0, steps = 0 } of amounts) {
    most = {
      tokens: Math.max(most.tokens, tokens),
      toolCalls: Math.max(most.toolCalls, toolCalls),
      cost: Math.max(most.cost, cost),
      steps: Math.max(most.steps, steps),
    }
  }
  return most
}

/** Returns the sum of two spendings. */
function addSpending(a: Spending, b: Spending): Spending {
  return {
    tokens: a.tokens + b.tokens,
    toolCalls: a.toolCalls + b.toolCalls,
    cost: a.cost + b.cost,
    steps: a.steps + b.steps,
  }
}

/** Returns the state of the runs of a tree, for a call without a reservation. */
export function peersIn({ reservations, children }: RunTree): RunPeers {
  let [running, reserving] = [0, 0]
  for (const [id, its] of reservations) {
    // A run with active children waits for them.
    if (!children.get(id)?.size) running++
    reserving += its.modelCalls()
  }
  return { running, reserving }
}

/** Notifies calls that wait for the reservations of others. */
export function wakeWaiters({ reservationWaiters }: RunTree): void {
  if (reservationWaiters.size === 0) return
  const waiting = [...reservationWaiters]
  reservationWaiters.clear()
  for (const wake of waiting) wake()
}

/** Resolves when a reservation may have been released, or on abort. */
export function whenReleased({ reservationWaiters }: RunTree, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  reservationWaiters.add(resolve)
  signal.addEventListener('abort', () => resolve(), { once: true })
  if (signal.aborted) resolve()
  return promise
}

/** Returns what remains of a grant after the reservations of calls in progress. */
export function withoutReserved(left: Grant, { tokens, toolCalls, cost, steps }: Spending): Grant {
  return {
    ...left,
    ...(left.tokens !== undefined && { tokens: left.tokens - tokens }),
    ...(left.cost !== undefined && { cost: left.cost - cost }),
    ...(left.toolCalls !== undefined && { toolCalls: left.toolCalls - toolCalls }),
    ...(left.steps !== undefined && { steps: left.steps - steps }),
  }
}
