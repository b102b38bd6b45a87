import type { Json, Label } from '@provost/core'

/** One thing that was read: a result, or a message from elsewhere. */
export interface Source {
  /** What an audit row and an approval call it. */
  readonly name: string
  readonly label: Label
  /** The call that it is the result of. */
  readonly call?: { readonly toolName: string; readonly input: Json }
  /** Its text, value by value: in exact form where it is trusted, in loose form else. */
  readonly text: string
  /** What its own call said: a tool that repeats its input makes nothing trusted. */
  readonly asked: string
  /** Whole values in exact form that stand under other names than those the call gave them: what was looked up. */
  readonly wholes: ReadonlySet<string>
  /** A word of one of our agents to the next: what it says, it has read somewhere. */
  readonly isNote?: true
}
