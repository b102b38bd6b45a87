import type { CompositeState } from '../types/session-state.ts'

/** Gives a composite its answers one by one, in the order of the log. */
export interface OrderedReplay {
  /** Resolves when it is the turn of an answer in the log. */
  awaitTurn(id: string): Promise<void>
  /** Checks after a change whether an answer is due. */
  recheck(): void
}

/** What the replay needs from the composite. */
export interface ReplayHost {
  /** Whether the composite waits for this answer. */
  isWaitingFor(id: string): boolean
  /** Whether the composite may still ask by itself. */
  isWorking(): boolean
}

/**
 * Creates the ordered replay of a composite. A turn of the event loop lies between two answers. The effects of the first
 * therefore complete before the second arrives, live and after a crash alike.
 */
export function createOrderedReplay({ answerIds, answerOrder }: CompositeState, receiver: ReplayHost): OrderedReplay {
  const due = new Map<number, () => void>()
  let at = 0
  let resting = false

  function rest(): void {
    resting = true
    setImmediate(() => {
      resting = false
      recheck()
    })
  }

  function recheck(): void {
    if (resting || due.size === 0) return
    const give = due.get(at)
    if (give) {
      due.delete(at++)
      rest()
      give()
    } else if (!expected()) {
      const missed = at
      resting = true
      setImmediate(() => {
        resting = false
        // Skips an answer that the composite did not request in its turn, so that it does not block later ones.
        if (missed === at && !due.has(at) && !expected()) at++
        recheck()
      })
    }
  }

  /** Whether the composite will request the next answer. */
  function expected(): boolean {
    return receiver.isWorking() || receiver.isWaitingFor(answerIds[at] ?? '')
  }

  return {
    recheck,
    awaitTurn(id) {
      const order = answerOrder.get(id) ?? 0
      return new Promise((resolve) => {
        if (order < at) return resolve()
        due.set(order, resolve)
        return recheck()
      })
    },
  }
}
