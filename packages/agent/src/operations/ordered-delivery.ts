import type { CompositeState } from '../types/session-state.ts'

/** Hands a composite its answers one by one, in the order of the log. */
export interface OrderedReplay {
  /** Resolves when it is the turn of an answer that stands in the log. */
  turn(id: string): Promise<void>
  /** Something has changed: an answer may be due. */
  look(): void
}

/** What deliveries have to know of the composite. */
export interface Receiver {
  /** Whether the composite has asked and not been given the answer. */
  asks(id: string): boolean
  /** Whether it may still ask on its own account. */
  atWork(): boolean
}

/**
 * Makes the deliveries of a composite that was entered. A turn of the event loop lies between two of them, so that what
 * the first one sets off is done before the second comes: live and after a crash alike.
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
        // It had its turn and did not ask: an answer that nobody wants keeps none of the others.
        if (missed === at && !due.has(at) && !expected()) at++
        look()
      })
    }
  }

  /** Whether the next answer will be asked for. */
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
