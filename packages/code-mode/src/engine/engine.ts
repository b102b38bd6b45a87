import type { Delivery } from './bridge-frame.ts'

/** Controls a guest while it runs. */
export interface GuestWatch {
  /** Polled while the guest computes; `true` stops it. */
  stop(): boolean
  /** The time that the guest sees, in epoch ms. */
  now(): number
}

/** The seed of a script's random numbers. */
export type Seed = readonly [number, number, number, number]

/** What a guest receives before a script is known. */
export interface GuestSetup {
  readonly tools: readonly string[]
  readonly limits: {
    readonly toolCalls: number
    readonly argBytes: number
    readonly outputBytes: number
    readonly errorBytes: number
    /** Characters of all log lines together, and of one line. */
    readonly logLength: number
    readonly lineLength: number
  }
}

/** Limits of each guest of an engine. */
export interface EngineOptions {
  readonly memoryBytes: number
  readonly stackBytes: number
  /** The code that each guest runs first. */
  readonly boot: string
}

/**
 * The world of one script: created for one run and discarded after it. `start` and `deliver` run the script until it
 * has no work left. They throw when the script is stopped or the engine breaks; after that only `take` and `dispose`
 * may be called.
 */
export interface Guest {
  /** May be called repeatedly before `start`. */
  setup(setup: GuestSetup): void
  /** Loads what a script needs into the processor's caches. The host calls it once for each guest, at any time. */
  warm(): void
  /** Sets the watch of the guest. */
  watch(watch: GuestWatch): void
  /** Runs JavaScript: an expression that is the function to call. Throws {@link GuestSyntaxError}. */
  start(source: string, seed: Seed): void
  /** Returns false when the script made no such call. */
  deliver(delivery: Delivery): boolean
  /** Returns what the script requested since the last call, as a frame, or an empty text. */
  take(): string
  readonly memoryBytes: number
  /** True when the guest stopped itself; `take` returns the reason. */
  readonly wasInterrupted: boolean
  dispose(): void
}

/** Creates guests. The only implementation is `quickjs.ts`. */
export interface Engine {
  prepare(): Guest
}

/** The guest was stopped during execution: by its watch, or because it ran out of memory. */
export class GuestStopped extends Error {
  override readonly name = 'GuestStopped'
}

/** The script does not parse. Line and column count from 1, in the text that the engine received. */
export class GuestSyntaxError extends Error {
  override readonly name = 'GuestSyntaxError'
  readonly line: number | undefined
  readonly column: number | undefined

  constructor(message: string, line: number | undefined, column: number | undefined) {
    super(message)
    this.line = line
    this.column = column
  }
}
