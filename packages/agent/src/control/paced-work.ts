import type { MaybePromise, Steps } from '@provost/core'

/** Milliseconds of one turn of the event loop that work of all runs in this process may take together. */
const turnMs = 12

/** Until when work may go on in this turn of the event loop; undefined where none has paused in it. */
let until: number | undefined
const waiting: (() => void)[] = []
let pumping = false

/**
 * Does work that can pause, and gives way to the event loop: all such work of this process shares a few milliseconds of
 * each turn, one piece after the other. Work that never pauses is done at once, and its value is no promise.
 *
 * @throws the signal's reason, where it is aborted while the work pauses.
 */
export function inTurns<T>(work: Steps<T>, signal?: AbortSignal): MaybePromise<T> {
  if (until !== undefined && performance.now() >= until) return later(work, signal)
  for (let step = work.next(); ; step = work.next()) {
    if (step.done) return step.value
    if (performance.now() >= (until ??= beginTurn())) return later(work, signal)
  }
}

/** Bytes of a value from which on the host gives way before it goes on with it. */
const largeBytes = 131_072

/** Lets others have their turn where a value is large; undefined where it is not. */
export function giveWay(bytes: number): Promise<void> | undefined {
  return bytes > largeBytes ? turn() : undefined
}

function turn(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve)
    pump()
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
  pump()
  return performance.now() + turnMs
}

/** Lets one piece of work go on in each turn of the event loop. */
function pump(): void {
  if (pumping) return
  pumping = true
  setImmediate(() => {
    pumping = false
    const next = waiting.shift()
    if (next) {
      // Others that come in this turn find it used.
      until = 0
      next()
      pump()
    } else until = undefined
  })
}
