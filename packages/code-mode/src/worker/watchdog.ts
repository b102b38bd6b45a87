import { flag, since } from './task.ts'

/** One stay of a run on a worker, as the watchdog sees it. */
export interface WatchedRun {
  readonly cells: Int32Array
  readonly cpuMs: number
  /** Called when the script has begun. */
  started(): void
  /** Called when the script computes for too long without answering. */
  hung(): void
  /** Called when the script waits and another run needs its worker. */
  park(): void
}

/** Time over its limit before a script's thread is ended, in ms. */
const grace = 150
/** Wait in ms after which a script leaves its worker. */
const longWait = 1000
/** The same when other runs wait for a worker. */
const shortWait = 3
/** Polling interval in ms when no run waits for a worker. */
const usualLook = 10
/** A parked script is replayed later. Before it is parked, it waits for this many times its computing time. */
const replayFactor = 10

/**
 * Supervises all scripts of a sandbox. A native loop of the engine polls nothing, so the watchdog detects unresponsive
 * scripts from outside. It also takes workers from waiting scripts.
 */
export function watchdog(): { watch(stretch: WatchedRun): () => void } {
  const watched = new Map<WatchedRun, { started: boolean; asked: boolean }>()
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
    const waiting: { stretch: WatchedRun; waited: number; state: { asked: boolean } }[] = []
    for (const [stretch, state] of watched) {
      if (!state.started) continue
      stretch.started()
      // Read the earlier time first: it grows when a piece ends, which must not be counted twice.
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
