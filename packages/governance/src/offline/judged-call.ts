import type { ArgRole, Json, JsonPointer } from '@provost/core'

/** What a policy decides on a call. `unknown`: the record lacks something that the policy needs. */
export type OfflineDecision = 'allow' | 'ask' | 'deny' | 'unknown'

/** The verdict of a policy on one call. */
export interface OfflineVerdict {
  readonly decision: OfflineDecision
  /** The rule that decided; absent where no rule had an objection. */
  readonly rule?: string
  readonly reason?: string
  /** What the record lacks, of an `unknown` verdict. */
  readonly missing?: readonly string[]
  readonly evidence?: Json
}

/** A value of a judged call. */
export interface JudgedArgument {
  readonly path: JsonPointer
  readonly role: ArgRole
  /** In the terms of the policy: `own`, `trusted`, `value`, `prose`, `nowhere`. Absent where it could not be traced. */
  readonly origin?: string
  readonly value: string
}

/** The answer of a human to a question about a call. */
export interface HumanAnswer {
  readonly decision: 'approve' | 'deny'
  readonly by: string
  /** The approver changed the arguments, so the judged ones were not approved. */
  readonly edited?: true
}

/** A recorded call that writes or sends, with what was decided about it and what a policy decides now. */
export interface JudgedCall {
  readonly session: string
  /** The log of the call: that of the session, or of a child. */
  readonly log: string
  readonly runId: string
  /** The outermost run. */
  readonly rootId: string
  readonly agent: string
  readonly callId: string
  readonly tool: string
  readonly arguments: readonly JudgedArgument[]
  /** The verdict of the policy of the recorded run; `allow` where it had none. */
  readonly recorded: OfflineVerdict
  /** The call was started. */
  readonly ran: boolean
  readonly human?: HumanAnswer
  /** The tool had another definition when the human was asked. */
  readonly redefined?: true
  readonly verdict: OfflineVerdict
}
