import type { Answer, Ask, HookContext, RoleValue, ToolCall } from '@provost/core'

import type { TaintHit } from '../taint/taint-hit.ts'
import type { Knowledge, Origin } from './origin.ts'
import type { SecretArgument } from './secret-argument.ts'

/** Why a tool may be used: the human's words ask for it, or they hand the say to a text whose words do. */
export type Implied = 'asked' | 'delegated' | 'no' | 'unknown'

/** A value of a sink call, and where it comes from. */
export interface TracedValue extends RoleValue {
  readonly origin: Origin
}

/** A call that changes something or that somebody outside learns of. */
export interface Sink {
  /** What is called; the assistant's answer is a call to `answer`. */
  readonly call: ToolCall
  /** All values of the arguments with the roles they are taken to have. */
  readonly values: readonly TracedValue[]
  /** Stretches of untrusted text in the arguments. */
  readonly hits: readonly TaintHit[]
  /** Tokens of secrets in arguments that are no credentials: the call would tell them. Its label is secret then. */
  readonly secrets: readonly SecretArgument[]
  /** Whether the human's words imply the use of the tool. `unknown`: they are of no language that can be told. */
  readonly implied: Implied
  /** Who may read what is sent to a destination. */
  readonly readers: (destination: string) => readonly string[]
  /** What was read so far. */
  readonly known: Knowledge
}

/** What a rule decides: nothing leaves it to the next rule, `allow` ends the judging. */
export type RuleAnswer =
  | { readonly deny: string; readonly evidence?: unknown }
  | { readonly ask: Ask }
  | { readonly allow: true }

/**
 * Judges one sink call; what it leaves undecided the next rule judges. A plain function: its name is the rule's name in
 * the audit.
 *
 * @example
 * const nothingToRivals: DataFlowRule = ({ values }) =>
 *   values.some(({ role, value }) => role === 'destination' && value.endsWith('@rival.example'))
 *     ? { deny: 'Nothing goes to rivals.' }
 *     : undefined
 */
export type DataFlowRule = (sink: Sink, ctx: HookContext) => Answer<RuleAnswer>
