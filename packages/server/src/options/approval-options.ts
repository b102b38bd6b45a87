import type { Effect, Json, MaybePromise, Principal, QuestionSubject, Timestamp } from '@provost/core'

/** By which protocol something was asked for. `http` is the routes under `/api`. */
export type Via = 'http' | 'a2a' | 'mcp'

/** What an approver decides on: a call that asks, or one of unknown outcome. */
export interface ApprovalQuestion extends Partial<QuestionSubject> {
  /** `approval`: a call, an answer or a handoff that asks. `uncertain`: its process died in it. */
  readonly kind: 'approval' | 'uncertain'
  readonly sessionId: string
  /** On whose behalf the session acts. */
  readonly requester?: Principal
  readonly via: Via
  readonly id: string
  readonly callId: string
  /** Empty where it is about an answer of the model. */
  readonly toolName: string
  readonly agent: string
  readonly runPath: readonly string[]
  readonly effect: Effect
  /** Of a call: as the approver saw it. */
  readonly input: Json
  readonly reason: string
  readonly evidence?: Json
  readonly expiresAt?: Timestamp
  /** What the approver wants to have run instead of `input`, where that is something else. */
  readonly args?: Json
}

/** Whether a principal may do something about a question. Asked for each decision; one that throws permits nothing. */
export type ApprovalRule = (principal: Principal, question: ApprovalQuestion) => MaybePromise<boolean>

/** Who approves what the agents of a server ask about. */
export interface ApprovalOptions {
  /**
   * `requester`: the principal of the session, and operators. `operator`: operators alone. A function: whom it permits, in
   * the sessions of all principals. The requester may deny in any case.
   */
  readonly by: 'requester' | 'operator' | ApprovalRule
  /**
   * Whether the arguments that an approver changes run at once. Without it they are a new question, about what they are
   * now. Default false.
   */
  readonly mayEdit?: boolean | ApprovalRule
  /**
   * Whether `by` holds for calls over A2A and MCP too. Without it nothing is approved over these protocols, whatever
   * `by` says. A peer whose credentials are good for the routes under `/api` is a requester there: give machines
   * principals of their own and write `by` as a function. Default false.
   */
  readonly peers?: boolean
}
