import type { Delivery } from '../engine/bridge-frame.ts'
import type { Seed } from '../engine/engine.ts'

/** What a worker gets: all there is to know about one stretch of a run. */
export interface Task {
  readonly source: string
  readonly tools: readonly string[]
  readonly seed: Seed
  readonly startedAt: number
  /** What the script has heard already, in the order it heard it. */
  readonly heard: readonly Delivery[]
  /** See {@link flag}. */
  readonly flags: SharedArrayBuffer
}

/** Cells that host and worker share, so that the host sees a worker that answers nobody. Times are ms since `origin`. */
export const flag = {
  /** What the host wants besides: see {@link order}. */
  order: 0,
  /** When the script began to compute, 0 while it waits. */
  computingSince: 1,
  /** When the script began to wait, 0 while it computes or has not begun. */
  waitingSince: 2,
  /** What the script has computed before, in ms. */
  computed: 3,
  /** Counts what the host has sent; the worker sleeps on it. */
  letters: 4,
  /** Counts the tasks that the worker took. */
  taken: 5,
  /** There will be a task soon. */
  expected: 6,
} as const

/** What a worker is told to do with the script, in {@link flag}.order: to end it, or to let go of it if it waits. */
export const order = { none: 0, stop: 1, park: 2 } as const

/** The number of cells. */
export const flagCount = 7

/** Wakes the worker: there is something for it. */
export function ring(cells: Int32Array): void {
  Atomics.add(cells, flag.letters, 1)
  Atomics.notify(cells, flag.letters)
}

const { timeOrigin } = performance

/** Milliseconds as a cell can hold them, the same in every thread, never 0. */
export function tick(now: number = performance.now()): number {
  return Math.round(timeOrigin + now) % 0x3fffffff || 1
}

/** How long ago a tick was. */
export function since(earlier: number): number {
  const passed = tick() - earlier
  return passed < -0x1fffffff ? passed + 0x3fffffff : passed
}

export interface RunFigures {
  readonly fuel: number
  readonly cpuMs: number
  readonly calls: number
  readonly memoryBytes: number
}

/** Worker to host. A string is a frame of the guest, as it wrote it. */
export type FromWorker =
  | string
  /** The last frame of the script may still be in it. `code` says which limit ended it. */
  | { readonly end: string; readonly code?: string; readonly message?: string; readonly figures: RunFigures }
  | {
      readonly syntax: string
      /** The thread can run no script any more. */
      readonly worn: boolean
      readonly line?: number | undefined
      readonly column?: number | undefined
      readonly figures: RunFigures
    }
  /** The script waits for calls and has been taken off the worker. `heard`: of how many it has had the result. */
  | { readonly parked: true; readonly heard: number; readonly figures: RunFigures }
