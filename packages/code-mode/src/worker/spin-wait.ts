import { flag } from './task.ts'

/**
 * To wake a thread that sleeps costs more than most answers that come at once. So both sides stay awake for a moment where
 * an answer may come soon; where that does not pay, as on a core that both share, they stop it for a while.
 */

/** For how long is waited awake, in ms. */
const awakeMs = 0.1
/** For how long of it the host's loop stands still, in ms: a turn costs as much as many looks, and leaves garbage. */
const turnMs = 0.02
/** At most so many waits are slept through before it is tried again, */
const longestRest = 64
/** and so many where the other side is awake. */
const shortestRest = 8

interface Patience {
  /** Asked before each wait. */
  left(): boolean
  heard(inTime: boolean): void
}

/** Each time in vain in a row it is left for twice as many waits. */
function patience(longest: number): Patience {
  let rest = 0
  let next = 1
  return {
    left: () => rest-- <= 0,
    heard(inTime) {
      rest = inTime ? 0 : next
      next = inTime ? 1 : Math.min(2 * next, longest)
    },
  }
}

/**
 * For a worker: waits for a letter beyond `letters`. `awaited`: what it said last was heard at once, so the host is awake and
 * may answer at once too. If each of the two tried it without regard to the other, both would hardly ever be awake together.
 */
export function workerSpinWait(): (cells: Int32Array, letters: number, awaited: boolean) => void {
  const alone = patience(longestRest)
  const together = patience(shortestRest)
  const arrives = (cells: Int32Array, letters: number): boolean => {
    const until = performance.now() + awakeMs
    do {
      for (let i = 0; i < 100; i++) if (Atomics.load(cells, flag.letters) !== letters) return true
    } while (performance.now() < until)
    return false
  }
  return (cells, letters, awaited) => {
    const { left, heard } = awaited ? together : alone
    if (left()) {
      const inTime = arrives(cells, letters)
      heard(inTime)
      if (inTime) return
    }
    Atomics.wait(cells, flag.letters, letters)
  }
}

/**
 * For the host, whose loop goes on turning meanwhile: told when something was sent, and when something came. It calls `look`
 * again and again while it says by `looks` that it does, and once more; `look` says whether there was something.
 */
export function hostSpinWait(look: () => boolean, looks: (on: boolean) => void): { sent(): void; came(): void } {
  const { left, heard } = patience(longestRest)
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
    if (waiting) heard(false)
    looks(false)
    look()
  }
  return {
    sent() {
      waiting = left()
      if (!waiting) return
      until = performance.now() + awakeMs
      looks(true)
      if (!turning) setImmediate(turn)
      turning = true
    },
    came() {
      if (waiting && turning) heard(true)
      waiting = false
    },
  }
}
