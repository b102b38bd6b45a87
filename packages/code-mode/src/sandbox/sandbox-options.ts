import type { CallFlow, Json, JsonPointer, Label } from '@provost/core'

import type { Journal, JournalEntry } from './journal.ts'
import type { SandboxError } from './sandbox-error.ts'

/** Resources that a run used. */
export interface SandboxStats {
  /** Polls of the interrupt handler. Equal for equal scripts and results. */
  readonly fuel: number
  /** Time that the script computed, in ms. */
  readonly cpuMs: number
  /** Number of tool calls. */
  readonly calls: number
  /** Peak memory of the script and its engine, in bytes. */
  readonly memoryBytes: number
}

export type SandboxResult = {
  /** What the script printed, at most 16 KiB. */
  readonly logs: readonly string[]
  /** Which of these lines depend on untrusted data, if the sandbox follows values. */
  readonly untrustedLogs?: readonly boolean[]
  readonly stats: SandboxStats
  /** The results that the script received. Absent above 32 MiB. */
  readonly journal?: Journal
} & (
  | {
      readonly ok: true
      readonly value: Json
      readonly error?: never
      /** Where the value comes from, if the sandbox follows values. */
      readonly flow?: CallFlow
    }
  | { readonly ok: false; readonly value?: never; readonly error: SandboxError }
)

/**
 * A tool as a script calls it. It receives the arguments as parsed JSON and returns a JSON value. It may declare an
 * input type, as in `({ id }: { id: number }) => …`; the sandbox does not check it.
 */
// The type of a method, so that a tool may declare a narrower input type.
export type ScriptTool = { execute(input: unknown, call: ScriptCall): unknown }['execute']

export interface SandboxRunOptions {
  readonly tools?: Readonly<Record<string, ScriptTool>> | undefined
  /** Names of the tools that act on the world. A sandbox that follows values lets no untrusted data decide unseen on their calls. Default: all. */
  readonly acting?: readonly string[] | undefined
  /** The journal of an earlier run of the same source. Its calls are not made again. */
  readonly journal?: unknown
  /** Called with each result before the script receives it, in order. The script waits for the returned promise. */
  readonly record?: ((entry: JournalEntry, journal: Journal) => void | Promise<void>) | undefined
  readonly signal?: AbortSignal | undefined
  /** Makes runs repeatable: the seed of the script's random numbers, and the fixed time it sees, in epoch ms. */
  readonly identity?: { readonly seed: string; readonly at: number } | undefined
  /**
   * Called each time the script starts computing, with a promise that settles when it waits for calls only, or has
   * ended.
   */
  readonly busy?: ((work: Promise<void>) => void) | undefined
}

/** What a tool receives besides its arguments. */
export interface ScriptCall {
  /** Number of the call in its script, from 1. The same on every replay. */
  readonly id: number
  /** Aborted when the script ends before the call does. */
  readonly signal: AbortSignal
  /** Where the arguments come from, if the sandbox follows values. */
  readonly flow?: CallFlow
  /**
   * Labels the result, or the failure, of a call in a sandbox that follows values. Default: untrusted, with the name of the
   * tool as the source.
   *
   * @param endorses the result does not also carry the label of the arguments: the call has checked them. Default false.
   */
  label(label: Label, fields?: Readonly<Record<JsonPointer, Label>>, endorses?: boolean): void
}
