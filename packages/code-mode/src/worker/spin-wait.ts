import { flag } from './task.ts'

/**
 * Waking a sleeping thread costs more than most immediate answers. Both sides therefore stay awake for a moment when an
 * answer may arrive soon. Where that does not pay, as on a shared core, they suspend it for a while.
 */

/** Duration of a spin-wait, in ms. */
const awakeMs = 0.1
/** How long the host blocks its event loop in it, in ms. A turn costs as much as many polls, and leaves garbage. */
const turnMs = 0.02
/** Largest number of waits without a spin-wait before the next attempt, */
const longestRest = 64
/** and the number when the other side is awake. */
const shortestRest = 8

interface Backoff {
  /** Checked before each wait. */
  canSpin(): boolean
  record(inTime: boolean): void
}

/** Backoff: each consecutive failure doubles the number of waits that are skipped. */
function backoff(longest: number): Backoff {
  let rest = 0
  let next = 1
  return {
    canSpin: () => rest-- <= 0,
    record(inTime) {
      rest = inTime ? 0 : next
      next = inTime ? 1 : Math.min(2 * next, longest)
    },
  }
}

/**
 * For a worker: waits for a message beyond `letters`. `awaited`: the host received the last message at once, so that it
 * is awake and may answer at once. Two sides that try independently would rarely be awake at the same time.
 */
export function workerSpinWait(): (cells: Int32Array, letters: number, awaited: boolean) => void {
  const alone = backoff(longestRest)
  const together = backoff(shortestRest)
  const arrives = (cells: Int32Array, letters: number): boolean => {
    const until = performance.now() + awakeMs
    do {
      for (let i = 0; i < 100; i++) if (Atomics.load(cells, flag.letters) !== letters) return true
    } while (performance.now() < until)
    return false
  }
  return (cells, letters, awaited) => {
    const { canSpin, record } = awaited ? together : alone
    if (canSpin()) {
      const inTime = arrives(cells, letters)
      record(inTime)
      if (inTime) return
    }
    Atomics.wait(cells, flag.letters, letters)
  }
}

/**
 * For the host, whose event loop keeps turning. The caller reports each message sent and received. The spin-wait calls
 * `look` repeatedly while `looks(true)` is in force, and once more after it. `look` returns whether there was a
 * message.
 */
export function hostSpinWait(look: () => boolean, looks: (on: boolean) => void): { sent(): void; came(): void } {
  const { canSpin, record } = backoff(longestRest)
  let waiting = false
  let turning = false
  let until = 0
  const stare = () => {
    const pause = performance.now() + turnMs
    do {
      for (let i = 0; i < 200; i++) if (look()) return
    } while (performance.now() < pause)
  }
  const turn = () => {
    if (waiting) stare()
    turning = waiting && performance.now() < until
    if (turning) {
      setImmediate(turn)
      return
    }
    if (waiting) record(false)
    looks(false)
    look()
  }
  return {
    sent() {
      waiting = canSpin()
      if (!waiting) return
      until = performance.now() + awakeMs
      looks(true)
      if (!turning) setImmediate(turn)
      turning = true
    },
    came() {
      if (waiting && turning) record(true)
      waiting = false
    },
  }
}
