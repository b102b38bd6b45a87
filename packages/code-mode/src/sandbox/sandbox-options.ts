import type { Json } from '@provost/core'

import type { Journal, JournalEntry } from './journal.ts'
import type { SandboxError } from './sandbox-error.ts'

/** What a run used. */
export interface SandboxStats {
  /** Polls of the interrupt handler: the same for the same script and results. */
  readonly fuel: number
  /** Time the script computed, in ms. */
  readonly cpuMs: number
  /** Calls of tools. */
  readonly calls: number
  /** Memory of the script and its engine at its largest, in bytes. */
  readonly memoryBytes: number
}

export type SandboxResult = {
  /** What the script printed, at most 16 KiB. */
  readonly logs: readonly string[]
  readonly stats: SandboxStats
  /** What the script heard. Absent where that is more than 32 MiB. */
  readonly journal?: Journal
} & (
  | { readonly ok: true; readonly value: Json; readonly error?: never }
  | { readonly ok: false; readonly value?: never; readonly error: SandboxError }
)

/**
 * A tool as a script calls it: gets the arguments as parsed JSON, returns what JSON can write. It may say what it takes,
 * `({ id }: { id: number }) => …`, but nobody checks what a script gives it.
 */
// Of a method, since what that takes may be narrower: a function that is asked for may only take more.
export type ScriptTool = { execute(input: unknown, call: ScriptCall): unknown }['execute']

export interface SandboxRunOptions {
  readonly tools?: Readonly<Record<string, ScriptTool>> | undefined
  /** What an earlier run of the same source recorded: its calls are not made again. */
  readonly journal?: unknown
  /** Called with each result before the script hears it, in order; the script waits for it. */
  readonly record?: ((entry: JournalEntry, journal: Journal) => void | Promise<void>) | undefined
  readonly signal?: AbortSignal | undefined
  /** What makes two runs the same: where the script's random numbers come from, and the one time it sees, epoch ms. */
  readonly identity?: { readonly seed: string; readonly at: number } | undefined
  /** Told each time the script is set to work, with what settles when it waits for calls alone, or has ended. */
  readonly busy?: ((work: Promise<void>) => void) | undefined
}

/** What a tool learns of the call besides its arguments. */
export interface ScriptCall {
  /** Counts the calls of the script from 1: the same whenever it is replayed. */
  readonly id: number
  /** Aborted when the script ends without waiting for the call. */
  readonly signal: AbortSignal
}
