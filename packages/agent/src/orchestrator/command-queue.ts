import { ProvostError } from '@provost/core'

import type { Wish } from '../types/orchestrator.ts'

/** A queue of commands from an orchestrator to the loop, first in, first out. */
export interface WishList {
  add(wish: Wish): void
  /** Resolves with the next command. */
  take(): Promise<Wish>
  /** Rejects all open commands and each later one, because the run has ended or is suspended. */
  close(): void
}

/** Creates an empty queue. */
export function createWishList(): WishList {
  const wishes: Wish[] = []
  /** Commands without an answer, whether queued or taken. */
  const open = new Set<Wish>()
  let taker: ((wish: Wish) => void) | undefined
  let closed = false

  return {
    add(wish) {
      if ('granted' in wish) {
        // The orchestrator need not await the promise: a handler here prevents an unhandled rejection.
        wish.granted.promise.then(
          () => open.delete(wish),
          () => open.delete(wish),
        )
        if (closed) return refuse(wish)
        open.add(wish)
      }
      if (closed) return
      if (taker) taker(wish)
      else wishes.push(wish)
      taker = undefined
    },
    async take() {
      return wishes.shift() ?? new Promise((resolve) => void (taker = resolve))
    },
    close() {
      closed = true
      for (const wish of open) refuse(wish)
    },
  }
}

function refuse(wish: Wish): void {
  if (!('granted' in wish)) return
  wish.granted.reject(
    new ProvostError('run-over', 'The run has ended or is suspended, so it rejects the calls of its orchestrator.', {
      hint: 'Let this error propagate: the orchestrator is called again when the run is resumed.',
    }),
  )
}
