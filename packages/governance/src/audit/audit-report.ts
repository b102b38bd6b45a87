import type { EffectRow } from './effect-row.ts'

/**
 * What a problem is, by code.
 *
 * | code | meaning |
 * | --- | --- |
 * | `entry-changed` | an entry does not match its link |
 * | `entry-removed` | a linked entry is missing, without a tombstone |
 * | `entry-moved` | entries are in another order than their links |
 * | `entry-twice` | two entries have the same id |
 * | `entry-unlinked` | an entry was added: it precedes the end of the chain and has no link |
 * | `link-missing`, `link-changed`, `link-twice` | the chain itself is damaged or forged |
 * | `key-needed`, `key-unused` | the key that made a link was not given, or the link was made without one |
 * | `end-cut-off` | the chain lacks the given head, or the end of a completed run; or an export its last line |
 * | `sinks-miscounted` | a run has more or fewer calls that write or send than its last link counts |
 * | `call-undecided` | a call ran without a decision |
 * | `ran-without-consent` | a call ran that was denied, or asked about and not approved |
 * | `decision-for-other-arguments` | the call has other arguments than those that were decided |
 * | `approval-for-other-arguments` | the approver wrote other arguments |
 * | `ran-with-other-arguments` | the tool received other arguments than those that were decided |
 * | `record-without-call` | a decision, question or result is about a call that does not exist |
 * | `outcome-twice` | a call has two results |
 * | `approval-expired` | an approval was given after its question had expired |
 * | `clock-backwards` | an entry is more than a minute older than one before it |
 * | `unknown-policy` | a link states a policy that is not among the given ones |
 * | `child-removed`, `child-changed` | the log of a child is missing, or does not end as the run above states |
 */
export type AuditProblemCode =
  | 'entry-changed'
  | 'entry-removed'
  | 'entry-moved'
  | 'entry-twice'
  | 'entry-unlinked'
  | 'link-missing'
  | 'link-changed'
  | 'link-twice'
  | 'key-needed'
  | 'key-unused'
  | 'end-cut-off'
  | 'sinks-miscounted'
  | 'call-undecided'
  | 'ran-without-consent'
  | 'decision-for-other-arguments'
  | 'approval-for-other-arguments'
  | 'ran-with-other-arguments'
  | 'record-without-call'
  | 'outcome-twice'
  | 'approval-expired'
  | 'clock-backwards'
  | 'unknown-policy'
  | 'child-removed'
  | 'child-changed'

/** A problem that `verifyAudit` found. */
export interface AuditProblem {
  readonly code: AuditProblemCode
  /** The id of the affected entry, call or run. */
  readonly entry: string
  readonly message: string
}

/** One row about an effect: see {@link AuditReport.effects}. */
export interface AuditedEffect extends EffectRow {
  readonly toolName: string
}

/** What an audit states of one call. */
export interface AuditedCall {
  readonly callId: string
  readonly toolName: string
  /** The agent that made it. */
  readonly agent: string
  /** The decisions, in order: `ask` and then `proceed` for a call that was approved. */
  readonly decisions: readonly string[]
  /** Who answered the questions about it. */
  readonly approvers: readonly string[]
  /** How it ended; absent while it is open. */
  readonly outcome?: string
}

/** The result of `verifyAudit`. */
export interface AuditReport {
  /** Whether there are no problems. */
  readonly ok: boolean
  readonly problems: readonly AuditProblem[]
  /** Number of links in the chain. */
  readonly links: number
  /** Deleted entries; their links still verify. */
  readonly deleted: readonly string[]
  /** Entries after the last link: written, but not linked yet. */
  readonly open: readonly string[]
  /** The calls with their decisions, approvers and outcomes, in order. */
  readonly calls: readonly AuditedCall[]
  /** What happened to effects, in order, with the names of the tools. */
  readonly effects: readonly AuditedEffect[]
  /** The hash of the last link. Store it elsewhere to detect later whether the chain's end was removed. */
  readonly head?: string
}

/** Returns a problem. */
export function problem(code: AuditProblemCode, entry: string, message: string): AuditProblem {
  return { code, entry, message }
}
