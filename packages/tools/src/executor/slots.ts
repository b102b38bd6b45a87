import type { MaybePromise } from '@provost/core'

/** Slots for calls that run at the same time, in the order of arrival. */
export interface Slots {
  /** A sequential call gets all slots. @returns a function that frees the slot. Calling it twice does no harm. */
  enter(mode: 'parallel' | 'sequential'): MaybePromise<() => void>
}

/** @param most calls that run at the same time; at least 1. */
export function createSlots(most: number): Slots {
  const all = Math.max(1, most)
  const queue: { readonly weight: number; readonly enter: (leave: () => void) => void }[] = []
  let free = all

  function take(weight: number): () => void {
    free -= weight
    let left = false
    return () => {
      if (left) return
      left = true
      free += weight
      for (let first = queue[0]; first && free >= first.weight; first = queue[0]) {
        queue.shift()
        first.enter(take(first.weight))
      }
    }
  }

  return {
    enter(mode) {
      const weight = mode === 'sequential' ? all : 1
      if (queue.length === 0 && free >= weight) return take(weight)
      return new Promise((enter) => queue.push({ weight, enter }))
    },
  }
}
