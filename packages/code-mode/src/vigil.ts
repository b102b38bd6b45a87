import { flag } from './task.ts'

/**
 * To wake a thread that sleeps costs more than most answers that come at once. So both sides stay awake for a moment where
 * an answer may come soon; where that does not pay, as on a core that both share, they stop it for a while.
 */

/** For how long is waited awake, in ms. */
const awakeMs = 0.1
/** After so many times in vain it is left, so many times. */
const mostInVain = 3
const pause = 64

interface Patience {
  /** Asked before each wait. */
  left(): boolean
  heard(inTime: boolean): void
}

function patience(): Patience {
  let inVain = 0
  return {
    left() {
      if (inVain < mostInVain) return true
      inVain = inVain < mostInVain + pause ? inVain + 1 : 0
      return false
    },
    heard(inTime) {
      inVain = inTime ? 0 : inVain + 1
    },
  }
}

/** For a worker: waits for a letter beyond `letters`. */
export function workerVigil(cells: Int32Array): (letters: number) => void {
  const { left, heard } = patience()
  const arrives = (letters: number): boolean => {
    const until = performance.now() + awakeMs
    do {
      for (let i = 0; i < 100; i++) if (Atomics.load(cells, flag.letters) !== letters) return true
    } while (performance.now() < until)
    return false
  }
  return (letters) => {
    if (left()) {
      const inTime = arrives(letters)
      heard(inTime)
      if (inTime) return
    }
    Atomics.wait(cells, flag.letters, letters)
  }
}

/** For the host, whose loop goes on turning meanwhile: told when something was sent, and when something came. */
export function hostVigil(): { sent(): void; came(): void } {
  const { left, heard } = patience()
  let waiting = false
  let turning = false
  let until = 0
  const turn = () => {
    turning = waiting && performance.now() < until
    if (turning) setImmediate(turn)
    else if (waiting) heard(false)
  }
  return {
    sent() {
      waiting = left()
      if (!waiting) return
      until = performance.now() + awakeMs
      if (!turning) setImmediate(turn)
      turning = true
    },
    came() {
      if (waiting && turning) heard(true)
      waiting = false
    },
  }
}
