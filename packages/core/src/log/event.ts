import type { HandoffMode } from '../messages/handoff-filter.ts'
import type { FilePart, Message, Role, ToolOutput } from '../messages/message.ts'
import type { ErrorClass, FinishReason, Usage, UsageReport } from '../messages/usage.ts'
import type { CallOutcome, ResultSource } from '../tools/tool-info.ts'
import type { ErrorInfo } from '../values/error.ts'
import type { Json, Timestamp } from '../values/json.ts'
import type { Confidentiality, Label } from '../values/label.ts'
import type { EffectStatus } from './effect.ts'
import type { GovernanceRow } from './entry.ts'
import type { ApprovalVerdict, PendingApproval, PendingInput, PendingRemoteCall, PendingWork } from './pending.ts'
import type { RunStatus } from './run-status.ts'

interface OfMessage {
  readonly messageId: string
  /** Counts the attempts of a step from 1. Text of different attempts does not belong together. */
  readonly attempt: number
}
interface OfCall {
  readonly callId: string
  readonly toolName: string
}
/** Events about a wait have its token as their `id`, which is the same wherever the wait is named. */
interface OfWait {
  readonly id: string
  readonly token: string
}
type OfPart = OfMessage & { readonly partId: string }
/** The state of the effect of a call, where the ledger of effects has one. */
interface OfEffect {
  readonly effectStatus?: EffectStatus
}
type OfWrittenCall = OfMessage & OfCall & { readonly index: number }

/** Why a view of the history was computed or edited. */
export type ViewTrigger = 'step' | 'overflow' | 'manual'
/** How the results of a fan-out are merged. */
export type MergeKind = 'concat' | 'first-success' | 'judge-merge' | 'custom'
/**
 * What failed. `name` is the model, the tool, the extension (`hook`, `extension`: its `init` or its tools), the callback
 * of the application (`listener`), the method of the store, or the agent (`orchestrator`, `loop`: the runtime itself).
 */
export interface ErrorSource {
  readonly kind: 'model' | 'tool' | 'hook' | 'extension' | 'orchestrator' | 'listener' | 'store' | 'loop'
  readonly name: string
}

/** The payload of each type of event. */
export interface EventPayloads {
  'agent.start': { sessionId: string; input: readonly Message[] }
  'agent.resumed': { sessionId: string }
  'agent.suspended': { pending: PendingWork }
  /** The last event of a stream. */
  'agent.end': {
    status: RunStatus
    output?: Json
    text: string
    messages: readonly Message[]
    usage: UsageReport
    cost?: number
    error?: ErrorInfo
  }
  'agent.error': { error: ErrorInfo; source: ErrorSource }
  'turn.start': { trigger: 'input' | 'steer' | 'queue' | 'handoff' | 'resume' }
  'turn.mode': { mode: 'respond' | 'steer'; queueSize: number }
  'turn.end': { messages: readonly Message[]; text: string }
  'step.start': { model: string }
  /** After the step's tools have settled. */
  'step.end': { usage: Usage; cost?: number; finishReason: FinishReason }
  'message.start': OfMessage & { role: Role }
  /** `discarded`: the attempt failed and another one replaced it. */
  'message.end': OfMessage & { message: Message; discarded?: true }
  'text.start': OfPart
  'text.delta': OfPart & { delta: string }
  'text.end': OfPart & { text: string }
  'reasoning.start': OfPart
  'reasoning.delta': OfPart & { delta: string }
  'reasoning.end': OfPart & { text: string }
  'tool.call.start': OfWrittenCall
  'tool.call.delta': OfWrittenCall & { delta: string }
  'tool.call.end': OfWrittenCall & { input: Json; providerExecuted?: true }
  'tool.execute.start': OfCall & OfEffect & { input: Json; parentCallId?: string }
  'tool.execute.progress': OfCall & { data: Json }
  'tool.execute.partial': OfCall & ({ delta: string; value?: never } | { value: Json; delta?: never })
  'tool.execute.end': OfCall &
    OfEffect & {
      output: ToolOutput
      details?: Json
      label: Label
      durationMs: number
      via: ResultSource
    }
  'tool.execute.error': OfCall & OfEffect & { error: ErrorInfo; durationMs: number }
  'tool.skipped': OfCall & { reason: string }
  'tool.uncertain': OfCall & OfEffect & { input: Json }
  'tool.approval.requested': OfWait & PendingApproval
  'tool.approval.resolved': OfWait &
    OfCall & {
      decision: ApprovalVerdict | 'expired'
      by: string
      reason?: string
    }
  /** All calls of a batch have ended. Rows are in call order. `unknown`: the call may have taken effect. */
  'tool.batch.settled': {
    batch: string
    rows: readonly { callId: string; toolName: string; outcome: CallOutcome | 'unknown' }[]
  }
  /** `deadline` is `expiresAt`. */
  'tool.remote.requested': OfWait & PendingRemoteCall & { deadline?: Timestamp }
  'tool.remote.resolved': OfWait & OfCall & { by: string }
  'input.requested': OfWait & PendingInput
  'input.resolved': OfWait & OfCall & { by: string }
  'agent.steered': { text: string; messageId: string }
  'agent.followup.queued': { text: string; messageId: string }
  'model.fallback': { from: string; to: string; class: ErrorClass }
  'model.retry': { model: string; attempt: number; afterMs: number; class: ErrorClass }
  'context.compacted': {
    beforeTokens: number
    afterTokens: number
    summaryTokens: number
    durationMs: number
    hooksFired: readonly string[]
    source: ViewTrigger
  }
  'handoff.start': { from: string; to: string; mode: HandoffMode; callId: string }
  'handoff.end': {
    from: string
    to: string
    mode: HandoffMode
    callId: string
    status: 'accepted' | 'denied' | 'returned'
    reason?: string
    label: Label
  }
  'fanout.start': {
    callId: string
    strategy: MergeKind
    children: readonly { key: string; agent?: string; runId?: string }[]
  }
  'fanout.child': {
    callId: string
    key: string
    status: RunStatus
    usage: UsageReport
    cost?: number
    label: Label
    error?: ErrorInfo
  }
  'fanout.merged': { callId: string; strategy: MergeKind; used: readonly string[]; label: Label; durationMs: number }
  'evaluator.iteration': {
    iteration: number
    accepted: boolean
    score?: number
    feedback: string
    /** The id of the composite that requested it. */
    callId?: string
  }
  'governance.flagged': GovernanceRow
  'governance.blocked': GovernanceRow
  'governance.declassified': GovernanceRow
  'progress.written': {
    id: string
    role: string
    seq: number
    confidentiality: Confidentiality
    tags: readonly string[]
    bytes: number
  }
  'file.generated': OfMessage & { file: FilePart }
  'source.cited': OfMessage & { url?: string; title?: string; mediaType?: string }
  /** `event` is the name of a declared event. `label`: of what the sender had read, where that is known. */
  extension: { name: string; event?: string; data: Json; label?: Label }
}

/** The fields that all events share. */
export interface EventBase {
  /** Counts the events of one subscriber, from 1 without gaps, children included. All other fields are the same for all. */
  readonly seq: number
  /**
   * `log:offset.n`, the n-th event of that log entry, or `log:offset~n`, a transient one after it.
   * Events about a wait have the wait's token instead.
   */
  readonly id: string
  readonly runId: string
  readonly step: number
  readonly agent: string
  /** Run ids from the parent run up to the root; empty for a root run. */
  readonly parents: readonly string[]
  readonly at: Timestamp
}

type Frozen<T> = T extends unknown ? { readonly [K in keyof T]: T[K] } : never

/** The names of all events. */
export type EventType = keyof EventPayloads
/** The event of one type. */
export type EventOf<K extends EventType> = {
  [T in K]: EventBase & { readonly type: T } & Frozen<EventPayloads[T]>
}[K]
/** Every event of a run. JSON, frozen, exhaustive: switch on `type` with `assertNever` in the default. */
export type AgentEvent = EventOf<EventType>
