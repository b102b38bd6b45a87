import type { Answer, Ask, HookContext, Message, ToolCall } from '@provost/core'

import type { TaintHit } from '../taint/taint-hit.ts'
import type { ArgumentValue } from './argument-role.ts'
import type { ContractView } from './contract.ts'
import type { Knowledge, Origin } from './origin.ts'
import type { SecretArgument } from './secret-argument.ts'

/** Whether the user's words ask for a tool (`asked`), or delegate to a text that does (`delegated`). */
export type Implied = 'asked' | 'delegated' | 'no' | 'unknown'

/** A value of a sink call, and its origin. */
export interface TracedValue extends ArgumentValue {
  readonly origin: Origin
}

/** A call that writes or sends. */
export interface Sink {
  /** The call; the assistant's answer is a call to `answer`. */
  readonly call: ToolCall
  /** All values of the arguments with their declared or suggested roles. */
  readonly values: readonly TracedValue[]
  /** Spans of untrusted text in the arguments. */
  readonly hits: readonly TaintHit[]
  /** Tokens of secrets outside credentials: the call would disclose them, so its label is secret. */
  readonly secrets: readonly SecretArgument[]
  /** Whether the user's words imply the tool. `unknown`: the lexicon lacks the words of the request or of the tool. */
  readonly implied: Implied
  /** What the turn allows, and how many calls it has used. Absent where the policy derives no contracts. */
  readonly contract?: ContractView
  /** The human's messages of the present turn. Tools are implied by these alone; values may be in earlier ones. */
  readonly turn: readonly Message[]
  /** Returns the readers of a destination. */
  readonly readers: (destination: string) => readonly string[]
  /** What the run has read so far. */
  readonly known: Knowledge
  /**
   * Returns the sum of a counter over the calls of the session and of its children, without this one: calls that ran, run,
   * or wait for an approval. Rules add to counters with `counts`.
   */
  readonly counted: (counter: string) => number
}

/** The decision of a rule: undefined continues with the next rule, `allow` skips the remaining rules. */
export type RuleAnswer =
  | { readonly deny: string; readonly evidence?: unknown }
  /** `yields`: the remaining rules still run, and a denial of theirs outranks the question. */
  | { readonly ask: Ask; readonly yields?: true }
  | { readonly allow: true }

/**
 * Judges one sink call, or returns undefined to leave it to the next rule. The function's name is the rule's name in
 * the audit.
 *
 * @example
 * const nothingToRivals: DataFlowRule = ({ values }) =>
 *   values.some(({ role, value }) => role === 'destination' && value.endsWith('@rival.example'))
 *     ? { deny: 'Nothing goes to rivals.' }
 *     : undefined
 */
export interface DataFlowRule {
  (sink: Sink, ctx: HookContext): Answer<RuleAnswer>
  /**
   * Returns what a call adds to counters of the session, by name. The log records it with the first verdict that does not
   * deny the call, and takes it back if the call ends without an effect. A counter never decreases otherwise.
   */
  readonly counts?: (call: ToolCall) => Readonly<Record<string, number>>
}
