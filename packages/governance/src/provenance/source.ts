import type { Json, Label } from '@provost/core'

/** A result or a message that the session has read. */
export interface Source {
  /** The name in audit rows and approval requests. */
  readonly name: string
  readonly label: Label
  /** The call that returned it. */
  readonly call?: { readonly toolName: string; readonly input: Json }
  /** Its values, one a line: in exact form if it is trusted, else in loose form. */
  readonly text: string
  /** The input of its call: a tool that repeats its input vouches for nothing. */
  readonly asked: string
  /** Whole values in exact form that do not repeat the call's argument of the same name: the results of a lookup. */
  readonly wholes: ReadonlySet<string>
  /** A handoff note of one agent to the next: its content comes from other sources. */
  readonly isNote?: true
}
