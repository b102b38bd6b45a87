import type { Delivery } from '../engine/bridge-frame.ts'
import type { Seed } from '../engine/engine.ts'

/** What a worker receives for one stay of a run. */
export interface Task {
  readonly source: string
  readonly tools: readonly string[]
  /** Names of the tools that act on the world, where values are followed. */
  readonly acting?: readonly string[]
  readonly seed: Seed
  readonly startedAt: number
  /** Results that the script has already received, in order. */
  readonly delivered: readonly Delivery[]
  /** See {@link flag}. */
  readonly flags: SharedArrayBuffer
}

/**
 * Cells that host and worker share, so that the host detects a worker that does not answer. Times are ms since
 * `origin`.
 */
export const flag = {
  /** The order of the host: see {@link order}. */
  order: 0,
  /** When the script started computing; 0 while it waits. */
  computingSince: 1,
  /** When the script started waiting; 0 while it computes or has not begun. */
  waitingSince: 2,
  /** Time that the script computed before, in ms. */
  computed: 3,
  /** Number of messages from the host. The worker sleeps on this cell. */
  letters: 4,
  /** Number of tasks that the worker took. */
  taken: 5,
  /** A task will follow soon. */
  expected: 6,
} as const

/** Orders for the worker, in {@link flag}.order: end the script, or release it if it waits. */
export const order = { none: 0, stop: 1, park: 2 } as const

/** The number of cells. */
export const flagCount = 7

/** Wakes the worker for a new message. */
export function ring(cells: Int32Array): void {
  Atomics.add(cells, flag.letters, 1)
  Atomics.notify(cells, flag.letters)
}

const { timeOrigin } = performance

/** The current time in ms as a cell stores it: comparable across threads, never 0. */
export function tick(now: number = performance.now()): number {
  return Math.round(timeOrigin + now) % 0x3fffffff || 1
}

/** Milliseconds since a tick. */
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

/** Worker to host. A string is a frame, exactly as the guest wrote it. */
export type FromWorker =
  | string
  /** The script ended. `end` may hold its last frame; `code` names the limit that ended it. */
  | { readonly end: string; readonly code?: string; readonly message?: string; readonly figures: RunFigures }
  | {
      readonly syntax: string
      /** The thread cannot run another script. */
      readonly worn: boolean
      readonly line?: number | undefined
      readonly column?: number | undefined
      readonly figures: RunFigures
    }
  /** The script waits for calls and has left the worker. `delivered`: the number of results it received. */
  | { readonly parked: true; readonly delivered: number; readonly figures: RunFigures }
