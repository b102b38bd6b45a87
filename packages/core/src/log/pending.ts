import type { QuestionSubject } from '../tools/question.ts'
import type { Json, MaybePromise, Timestamp } from '../values/json.ts'
import type { JsonSchema } from '../values/schema.ts'
import type { EffectStatus } from './effect.ts'

interface Pending {
  /** The wait's token, the same wherever the wait is named. */
  readonly id: string
  readonly callId: string
  readonly toolName: string
  readonly agent: string
  /** Run ids from the outermost run down to the one that waits. */
  readonly runPath: readonly string[]
  readonly expiresAt?: Timestamp
}
/**
 * A call that waits for a human, with the input that was shown and the subject of the question. Show its texts through
 * `displayText` or `questionText`, because models and other outside sources wrote them.
 */
export interface PendingApproval extends Pending, QuestionSubject {
  readonly input: Json
  readonly reason: string
  readonly evidence?: Json
  /** Shared by the calls that one step asks about together: several calls, or those of staged tools. It never gets further rows. */
  readonly batch?: string
}
/** A call of a tool without `execute`: its result is delivered from outside. */
export interface PendingRemoteCall extends Pending {
  readonly input: Json
}
/** A call that may have taken effect: its process died, or an earlier call of the same effect ended without an answer. */
export interface PendingUncertain extends Pending {
  readonly input: Json
  readonly startedAt: Timestamp
  /** The effect that is in doubt, where the ledger of effects has it. */
  readonly effectStatus?: EffectStatus
}
/** A question of a tool that is running, or was running when its process died. */
export interface PendingInput extends Pending {
  readonly message: string
  readonly schema?: JsonSchema
  /** The answer `{ decision: 'approve' | 'deny' }` is an approval: on a server, only approvers may give it. */
  readonly approves?: true
}
/** All waits of a suspended run. */
export interface PendingWork {
  readonly approvals: readonly PendingApproval[]
  readonly remoteCalls: readonly PendingRemoteCall[]
  readonly uncertain: readonly PendingUncertain[]
  readonly inputs: readonly PendingInput[]
}

/** The pending work of a run that waits for nothing. */
export const noPendingWork: PendingWork = Object.freeze({
  approvals: Object.freeze([]),
  remoteCalls: Object.freeze([]),
  uncertain: Object.freeze([]),
  inputs: Object.freeze([]),
})

/** A human's decision on a call that needs approval. */
export type ApprovalVerdict = 'approve' | 'deny'
/**
 * An answer to an approval: bound to the arguments that were shown and to the definition of the tool. Edited `args` are
 * authorized again from the start.
 */
export interface ApprovalDecision {
  readonly id: string
  readonly decision: ApprovalVerdict
  readonly by?: string
  readonly reason?: string
  readonly args?: unknown
  /** `args` are proposed by a person without the right to edit: the call waits again, with a new question about them. */
  readonly propose?: true
  /**
   * Approves for the whole session, where the question offers it. Calls of this tool with the same arguments, reasons and
   * principal are then not asked about again.
   */
  readonly sticky?: 'session'
}
/**
 * One answer to all open rows of a batch. Each row is then decided as by an answer of its own; a row that was decided
 * before keeps that decision.
 */
export interface BatchDecision {
  /** The `batch` of its approvals. */
  readonly id: string
  readonly decision: ApprovalVerdict
  readonly by?: string
  readonly reason?: string
  /** Ids of approvals that are struck: their calls are denied with the reason `struck`. */
  readonly except?: readonly string[]
  /** New arguments, by the id of the approval. They are authorized again from the start. */
  readonly edits?: Readonly<Record<string, unknown>>
  /** `edits` are proposed by a person without the right to edit: those calls wait again. */
  readonly propose?: true
}
/** How a call of unknown outcome is settled. */
export interface UncertainDecision {
  readonly callId: string
  readonly decision: 'retry' | 'done' | 'fail'
  readonly output?: unknown
  readonly by?: string
}
/** How a call that was executed outside ended: with an output or with an error. */
export type RemoteResult = { readonly callId: string; readonly by?: string } & (
  | { readonly output: unknown; readonly error?: never }
  | { readonly error: RemoteError; readonly output?: never }
)
/** Why a call that was executed outside failed. The model receives both texts. */
export interface RemoteError {
  readonly message: string
  /** Up to 100 characters. Default: `tool-failed`. */
  readonly code?: string
}
/** What a suspended run is resumed with: any number of answers, in any order. */
export interface Decisions {
  readonly approvals?: readonly ApprovalDecision[]
  readonly batches?: readonly BatchDecision[]
  readonly toolResults?: readonly RemoteResult[]
  readonly uncertain?: readonly UncertainDecision[]
  readonly inputs?: readonly { readonly id: string; readonly value: unknown }[]
}
/** Called in process for each approval; `undefined` leaves it pending. */
export type OnApproval = (
  approval: PendingApproval,
) => MaybePromise<ApprovalVerdict | Omit<ApprovalDecision, 'id'> | undefined>
/** Called in process once for each batch, with its open rows; `undefined` leaves them pending. */
export type OnBatch = (
  rows: readonly PendingApproval[],
) => MaybePromise<ApprovalVerdict | Omit<BatchDecision, 'id'> | undefined>
/** Called in process for each question of a running tool; `undefined` leaves it pending. */
export type OnInput = (input: PendingInput) => unknown

/** What changed in the code of an agent since a run began, or was last resumed. */
export interface DefinitionChange {
  /** Differs for each pair of old and new code. */
  readonly id: string
  readonly agent: string
  /** The versions before and now, where the agent states one. */
  readonly from?: string
  readonly to?: string
  readonly instructions: boolean
  readonly tools: readonly { readonly name: string; readonly change: 'added' | 'removed' | 'changed' }[]
}

/** A change of code, and whether the run is resumed with it. `ask`: once it is accepted. */
export interface RunChange extends DefinitionChange {
  readonly rule: 'continue' | 'ask' | 'refuse'
}

/** Returns a change of code as one line. */
export function changeText({ agent, from, to, instructions, tools }: DefinitionChange): string {
  const what = [
    ...(from === to ? [] : [`version ${from ?? 'none'} is now ${to ?? 'none'}`]),
    ...(instructions ? ['the instructions changed'] : []),
    ...tools.slice(0, 5).map(({ name, change }) => `tool ${name} was ${change}`),
    ...(tools.length > 5 ? [`${tools.length - 5} more tools`] : []),
  ]
  return `Agent ${agent} changed since its run began: ${what.join(', ')}.`
}
