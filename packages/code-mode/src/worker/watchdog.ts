import { flag, since } from './task.ts'

/** One stretch of a run on a worker, as the watchdog sees it. */
export interface Watched {
  readonly cells: Int32Array
  readonly cpuMs: number
  /** It has begun. */
  started(): void
  /** It computes for too long and does not answer. */
  hung(): void
  /** It waits, and somebody else could use its worker. */
  park(): void
}

/** How far over its limit a script may be before its thread is ended, in ms. */
const grace = 150
/** A script that waits for longer than this is taken off its worker, in ms. */
const longWait = 1000
/** The same while others wait for a worker. */
const shortWait = 3
/** How often is looked, in ms, where nobody waits. */
const usualLook = 10
/** A script that is taken off runs again up to where it was: it waits this many times as long before. */
const replayFactor = 10

/**
 * Looks after all scripts of a sandbox: a native loop of the engine polls nothing, so it is seen from outside that a
 * script does not answer; and workers are taken from scripts that wait.
 */
export function watchdog(): { watch(stretch: Watched): () => void } {
  const watched = new Map<Watched, { started: boolean; asked: boolean }>()
  let timer: NodeJS.Timeout | undefined

  const lookIn = (ms: number) => {
    clearTimeout(timer)
    timer = watched.size > 0 ? setTimeout(look, ms) : undefined
  }
  const look = () => {
    let queued = 0
    for (const [{ cells }, state] of watched) {
      state.started ||= cells[flag.computingSince] !== 0 || cells[flag.waitingSince] !== 0
      if (!state.started) queued++
    }
    const waiting: { stretch: Watched; waited: number; state: { asked: boolean } }[] = []
    for (const [stretch, state] of watched) {
      if (!state.started) continue
      stretch.started()
      // First what was computed before: it grows when a piece ends, which must not be counted twice.
      const computed = Atomics.load(stretch.cells, flag.computed)
      const computing = Atomics.load(stretch.cells, flag.computingSince)
      const waitingSince = Atomics.load(stretch.cells, flag.waitingSince)
      if (computing !== 0) {
        if (since(computing) + computed > stretch.cpuMs + grace) stretch.hung()
      } else if (waitingSince !== 0 && !state.asked) {
        const waited = since(waitingSince)
        if (waited > Math.max(longWait, computed * replayFactor)) {
          state.asked = true
          stretch.park()
        } else if (waited > Math.max(shortWait, computed * replayFactor)) {
          waiting.push({ stretch, waited, state })
        }
      }
    }
    for (const { stretch, state } of waiting.toSorted((a, b) => b.waited - a.waited).slice(0, queued)) {
      state.asked = true
      stretch.park()
    }
    lookIn(queued > 0 ? shortWait : usualLook)
  }

  return {
    watch(stretch) {
      watched.set(stretch, { started: false, asked: false })
      if (!timer) lookIn(usualLook)
      return () => {
        watched.delete(stretch)
        if (watched.size > 0) return
        clearTimeout(timer)
        timer = undefined
      }
    },
  }
}
