import type { CompositeState } from '../types/session-state.ts'

/** Gives a composite its answers one by one, in the order of the log. */
export interface OrderedReplay {
  /** Resolves when it is the turn of an answer in the log. */
  turn(id: string): Promise<void>
  /** Checks after a change whether an answer is due. */
  look(): void
}

/** What the replay needs from the composite. */
export interface Receiver {
  /** Whether the composite waits for this answer. */
  asks(id: string): boolean
  /** Whether the composite may still ask by itself. */
  atWork(): boolean
}

/**
 * Creates the ordered replay of a composite. A turn of the event loop lies between two answers. The effects of the first
 * therefore complete before the second arrives, live and after a crash alike.
 */
export function createOrderedReplay({ answers, orders }: CompositeState, receiver: Receiver): OrderedReplay {
  const due = new Map<number, () => void>()
  let at = 0
  let resting = false

  function rest(): void {
    resting = true
    setImmediate(() => {
      resting = false
      look()
    })
  }

  function look(): void {
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
        look()
      })
    }
  }

  /** Whether the composite will request the next answer. */
  function expected(): boolean {
    return receiver.atWork() || receiver.asks(answers[at] ?? '')
  }

  return {
    look,
    turn(id) {
      const order = orders.get(id) ?? 0
      return new Promise((resolve) => {
        if (order < at) return resolve()
        due.set(order, resolve)
        return look()
      })
    },
  }
}
