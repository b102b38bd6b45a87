import { ProvostError } from '@provost/core'

import type { Wish } from '../types/orchestrator.ts'

/** Where an orchestrator leaves its wishes and the loop takes them, in their order. */
export interface WishList {
  add(wish: Wish): void
  /** The next wish, once there is one. */
  take(): Promise<Wish>
  /** The run is over or pauses: nothing is granted any more. */
  close(): void
}

/** An empty list. */
export function createWishList(): WishList {
  const wishes: Wish[] = []
  /** Those that were taken or wait, and have no answer yet. */
  const open = new Set<Wish>()
  let taker: ((wish: Wish) => void) | undefined
  let closed = false

  return {
    add(wish) {
      if ('granted' in wish) {
        // Nobody has to be waiting for it.
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
    new ProvostError('run-over', 'The run has ended or is suspended: its orchestrator gets nothing any more.', {
      hint: 'Let this error pass: when the run is resumed, its orchestrator is called again.',
    }),
  )
}
