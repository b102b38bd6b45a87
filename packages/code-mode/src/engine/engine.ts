import type { Delivery } from './bridge-frame.ts'

/** What a guest is held to while it runs. */
export interface GuestWatch {
  /** Asked again and again while the guest computes; true stops it. */
  stop(): boolean
  /** What time it is for the guest, epoch ms. */
  now(): number
}

/** Where the random numbers of a script come from. */
export type Seed = readonly [number, number, number, number]

/** What a guest is told before there is a script for it. */
export interface GuestSetup {
  readonly tools: readonly string[]
  readonly limits: {
    readonly toolCalls: number
    readonly argBytes: number
    readonly outputBytes: number
    readonly errorBytes: number
    /** Characters of all log lines together, and of one. */
    readonly logLength: number
    readonly lineLength: number
  }
}

/** What each guest of an engine may use. */
export interface EngineOptions {
  readonly memoryBytes: number
  readonly stackBytes: number
}

/**
 * One script's world: made for one run, thrown away after it. `start` and `deliver` let the script go on until nothing is
 * left to do; they throw where it is stopped or the engine breaks, after which only `take` and `dispose` make sense.
 */
export interface Guest {
  /** May be called again, until it is started. */
  setup(setup: GuestSetup): void
  /** Brings what a script needs into reach of the processor; once, whenever it is called. Each guest has had it. */
  warm(): void
  /** From here on it is watched. */
  watch(watch: GuestWatch): void
  /** Takes JavaScript: an expression that is the function to run. Throws {@link GuestSyntaxError}. */
  start(source: string, seed: Seed): void
  /** False if the script made no such call. */
  deliver(delivery: Delivery): boolean
  /** What the script wants since it was asked last: a frame, or nothing. */
  take(): string
  readonly memoryBytes: number
  /** It has stopped itself; `take` says why. */
  readonly gaveUp: boolean
  dispose(): void
}

/** Makes guests. The one engine there is: `quickjs.ts`. */
export interface Engine {
  prepare(): Guest
}

/** The guest was stopped in the middle: by its watch, or because it has no memory left. */
export class GuestStopped extends Error {
  override readonly name = 'GuestStopped'
}

/** The script is none; line and column count from 1, in the text the engine was given. */
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
