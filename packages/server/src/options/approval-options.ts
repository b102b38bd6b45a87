import type { Effect, Json, MaybePromise, Principal, QuestionSubject, Timestamp } from '@provost/core'

/** Protocol of a request. `http` is the routes under `/api`. */
export type Via = 'http' | 'a2a' | 'mcp'

/** What an approver decides on: a call that needs approval, or a call of unknown outcome. */
export interface ApprovalQuestion extends Partial<QuestionSubject> {
  /** `approval`: a call, an answer or a handoff that needs approval. `uncertain`: a call whose process died in it. */
  readonly kind: 'approval' | 'uncertain'
  readonly sessionId: string
  /** Principal of the session. */
  readonly requester?: Principal
  readonly via: Via
  readonly id: string
  readonly callId: string
  /** Name of the tool; empty for an answer of the model. */
  readonly toolName: string
  readonly agent: string
  readonly runPath: readonly string[]
  readonly effect: Effect
  /** Input of the call, as the approver saw it. */
  readonly input: Json
  readonly reason: string
  readonly evidence?: Json
  readonly expiresAt?: Timestamp
  /** Arguments that the approver wants to run instead of `input`, if they differ. */
  readonly args?: Json
}

/** What an operator may do: `view` reads, `decide` also decides, `operate` also forks, releases, aborts and sees the system. */
export type OperatorRole = 'view' | 'decide' | 'operate'

/** A role, with what its principal may read. */
export interface OperatorGrant {
  readonly role: OperatorRole
  /** `secret`: the principal also reads values that are labelled secret or for certain readers. For the role `view`; the others do. */
  readonly clearance?: 'secret'
}

/** Returns whether a principal may decide on a question. Called for each decision; a rule that throws permits nothing. */
export type ApprovalRule = (principal: Principal, question: ApprovalQuestion) => MaybePromise<boolean>

/** Who approves the calls of a server's agents. */
export interface ApprovalOptions {
  /**
   * `requester`: the principal of the session, and operators. `operator`: operators alone. A function: each principal that
   * it permits, in the sessions of all principals. The requester may always deny.
   */
  readonly by: 'requester' | 'operator' | ApprovalRule
  /**
   * Whether arguments that an approver changes run at once. Without it the changed arguments are a new question. Default
   * false.
   */
  readonly mayEdit?: boolean | ApprovalRule
  /**
   * Whether `by` applies to A2A and MCP too. Without it these protocols approve nothing. A peer with credentials for the
   * routes under `/api` is a requester there: give machines separate principals, and make `by` a function. Default false.
   */
  readonly peers?: boolean
}
