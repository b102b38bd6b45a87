import type { MaybePromise, Steps } from '@provost/core'

/** Milliseconds per turn of the event loop that such work of all runs in this process may take. */
const turnMs = 12

/** End of the time for such work in this turn of the event loop; undefined if none has paused in it. */
let until: number | undefined
const waiting: (() => void)[] = []
let pumping = false

/**
 * Runs work that can pause, and yields to the event loop. All such work of this process shares a few milliseconds of
 * each turn, one piece after the other. Work that never pauses completes synchronously: the result is no promise.
 *
 * @throws the signal's reason, if it is aborted while the work pauses.
 */
export function runPaced<T>(work: Steps<T>, signal?: AbortSignal): MaybePromise<T> {
  if (until !== undefined && performance.now() >= until) return later(work, signal)
  for (let step = work.next(); ; step = work.next()) {
    if (step.done) return step.value
    if (performance.now() >= (until ??= beginTurn())) return later(work, signal)
  }
}

/** Bytes of a value from which on the host yields before it processes the value. */
const largeBytes = 131_072

/** Yields to the event loop for a large value; returns undefined for any other. */
export function yieldForBytes(bytes: number): Promise<void> | undefined {
  return bytes > largeBytes ? turn() : undefined
}

function turn(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve)
    resumeNext()
  })
}

async function later<T>(work: Steps<T>, signal: AbortSignal | undefined): Promise<T> {
  for (;;) {
    await turn()
    signal?.throwIfAborted()
    until = performance.now() + turnMs
    for (let step = work.next(); ; step = work.next()) {
      if (step.done) return step.value
      if (performance.now() >= until) break
    }
  }
}

function beginTurn(): number {
  resumeNext()
  return performance.now() + turnMs
}

/** Resumes one piece of work in each turn of the event loop. */
function resumeNext(): void {
  if (pumping) return
  pumping = true
  setImmediate(() => {
    pumping = false
    const next = waiting.shift()
    if (next) {
      // Work that arrives in this turn finds the time used.
      until = 0
      next()
      resumeNext()
    } else until = undefined
  })
}
