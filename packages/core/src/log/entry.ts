import type { FilterDescriptor, HandoffMode } from '../messages/handoff-filter.ts'
import type { Message, MessageInit, ToolOutput } from '../messages/message.ts'
import type { ErrorClass, FinishReason, Grant, Usage, UsageReport } from '../messages/usage.ts'
import type { QuestionSubject } from '../tools/question.ts'
import type { CallOutcome, ResultSource, ToolInfo } from '../tools/tool-info.ts'
import type { ErrorInfo } from '../values/error.ts'
import type { Json, JsonPointer, Timestamp } from '../values/json.ts'
import type { Label } from '../values/label.ts'
import type { JsonSchema } from '../values/schema.ts'
import type { Steps } from '../values/steps.ts'
import type { EventPayloads } from './event.ts'
import type { Principal, RunStatus } from './run-status.ts'

interface EntryBase {
  /** Made from the position, so that the same step appended twice is one entry. */
  readonly id: string
  /** Counts from 1 in its log, without a gap. */
  readonly offset: number
  readonly at: Timestamp
  readonly runId: string
  readonly step: number
  readonly agent: string
  readonly v: 1
}

/** What a run was started with; whoever resumes it must have the same. */
export interface Manifest {
  readonly agent: string
  readonly version?: string
  /** Names of the tree-scoped extensions. */
  readonly extensions: readonly string[]
  readonly tools: readonly string[]
}

/** Why a policy said what it said. */
export interface GovernanceRow {
  readonly rule: string
  readonly callId?: string
  readonly sources: readonly string[]
  readonly evidence: Json
  /** Of the tool that is called, where it declares one. */
  readonly sandbox?: ToolInfo['sandbox']
}

/** What stands in the log of a run about a wait of a child. */
export interface ChildWait {
  /** Of the spawn. */
  readonly callId: string
  /** What the wait is about. */
  readonly toolName: string
  readonly input: Json
  /** Who waits. */
  readonly agent: string
  /** From the child down to the run that waits. */
  readonly runPath: readonly string[]
  readonly startedAt?: Timestamp
}

/** What a log entry says, by `type` and `op`. */
export type EntryBody =
  | {
      type: 'run'
      op: 'started'
      principal?: Principal
      manifest: Manifest
      trace?: string
      grant?: Grant
      parent?: { log: string; runId: string }
    }
  | { type: 'run'; op: 'suspended' }
  | { type: 'run'; op: 'resumed' }
  | { type: 'run'; op: 'ended'; status: Exclude<RunStatus, 'suspended'>; output?: Json; error?: ErrorInfo }
  | {
      type: 'message'
      message: Message
      via: 'input' | 'steer' | 'queue' | 'model' | 'tool' | 'system'
      /** The token of a wait: an answer that counts only once a human has approved it. */
      held?: string
      /** Held back and sent back for repair: the model knows of it, and nobody else is shown it. */
      unsaid?: true
    }
  | {
      type: 'attempt'
      attempt: number
      model: string
      usage: Usage
      cost?: number
      outcome: 'answered' | 'discarded'
      finishReason?: FinishReason
      class?: ErrorClass
      /** `generated`: asked for by a hook, no part of the conversation. */
      purpose?: 'generated'
    }
  /** A call that a composite makes; those of a model stand in its message. */
  | { type: 'call'; op: 'planned'; callId: string; parentCallId: string; key: string; toolName: string; args: Json }
  /** The call is judged when it is the last one of its step without a result. */
  | { type: 'call'; op: 'deferred'; callId: string }
  | {
      type: 'call'
      op: 'decided'
      callId: string
      outcome: 'proceed' | 'deny' | 'ask' | 'result'
      by: string
      /** The effective arguments, before the schema's transforms. */
      args: Json
      /** Of the arguments that a human is asked about: the approval holds for no others. */
      argsHash?: string
      reason?: string
    }
  | {
      type: 'call'
      op: 'started'
      callId: string
      argsHash?: string
      fence: number
      /** After a crash it runs again unasked: nothing is lost if its start is not on the disk before it runs. */
      repeatable?: true
    }
  /** All that a composite has under way waits for somebody outside. */
  | { type: 'call'; op: 'parked'; callId: string }
  | {
      type: 'call'
      op: 'settled'
      callId: string
      outcome: CallOutcome
      via: ResultSource
      output: ToolOutput
      /** What the composite that made the call gets, where `output` does not tell. */
      value?: Json
      label: Label
      fields?: Readonly<Record<JsonPointer, Label>>
      details?: Json
      error?: ErrorInfo
      durationMs: number
    }
  | {
      type: 'wait'
      token: string
      kind: 'approval' | 'remote' | 'uncertain' | 'input' | 'timer'
      callId?: string
      reason?: string
      deadline?: Timestamp
      evidence?: Json
      sticky?: 'session'
      /** A composite waits for it: it outlives the process. */
      parks?: true
      /** Of the answer to a question. */
      schema?: JsonSchema
      /** Of an approval: what it is about, and what it is bound to. */
      about?: QuestionSubject
      /** The answer to a question is an approval. */
      approves?: true
      /** A child waits for it, whose log has the wait itself: here it stands for those who answer the runs above. */
      child?: ChildWait
    }
  | { type: 'resolved'; token: string; value: Json; by: string }
  | {
      type: 'child'
      op: 'spawned'
      /** Of the run that it starts, too. */
      callId: string
      /** The composite that spawns. */
      parentCallId?: string
      log: string
      agent: string
      /** Of what it was given: the same key comes with the same input. */
      inputHash?: string
      grant?: Grant
      /** Of what it was given beyond what crossed, whose messages have labels of their own. */
      label: Label
      /** What it was let have of the history, as data: a summary has its text here. */
      filter?: FilterDescriptor
      /** SHA-256 of what crossed of the history; with `with` of that. */
      hash?: string
      /** All that it was given instead, where a hook rewrote it. */
      with?: readonly Message[]
    }
  /** What a child has come to so far: once for each time that it is suspended, and once when it ends. */
  | {
      type: 'child'
      op: 'joined'
      callId: string
      log: string
      status: RunStatus
      usage: UsageReport
      /** Calls that it and those below it have made. */
      toolCalls: number
      /** Answers of models that it and those below it have had. */
      steps: number
      /** Handoffs that it and those whom it asked have made; absent where there were none. */
      handoffs?: number
      label: Label
      /** What it and those below it gave the host to judge, and wrote to their logs. */
      bytes?: { readonly host: number; readonly log: number }
      /** Of one that failed. */
      error?: ErrorInfo
    }
  | {
      type: 'handoff'
      from: string
      to: string
      mode: HandoffMode
      /** What crossed, as data: a summary has its text here. */
      filter: FilterDescriptor
      /** SHA-256 of what crossed. */
      hash: string
      /** The call that it was asked for by; it does not cross itself. */
      callId?: string
      /** Calls of the same step for other handoffs, which were not taken. They do not cross either. */
      others?: readonly string[]
      /** The join over what crossed. */
      label?: Label
      /** What crossed instead, where a hook rewrote it. */
      with?: readonly Message[]
      /** Whoever goes on with the session must have the same tree-scoped extensions for the target. */
      manifest?: Manifest
      /** It did not take place. */
      denied?: string
    }
  | {
      type: 'view'
      from: string
      to: string
      with: readonly Message[]
      reason: 'compaction' | 'edit' | 'reset'
      compacted?: EventPayloads['context.compacted']
    }
  /** What stood behind the history in a request: its hash and label; `with` only where it must outlive a crash. */
  | { type: 'tail'; hash: string; label: Label; with?: readonly MessageInit[] }
  | {
      type: 'memo'
      key: string
      argsHash?: string
      value: Json
      /** The composite that made it. */
      callId?: string
    }
  | { type: 'ext'; name: string; key: string; data: Json }
  | ({ type: 'audit'; decision: 'flagged' | 'blocked' | 'declassified'; by: string } & GovernanceRow)

type Frozen<T> = T extends unknown ? { readonly [K in keyof T]: T[K] } : never

/** One line of a log: what happened, at which position. Frozen. */
export type Entry = EntryBase & Frozen<EntryBody>
/** An entry before the store gave it an offset. */
export type NewEntry = Omit<EntryBase, 'offset'> & Frozen<EntryBody>
/** The entries of one type, as in `EntryOf<'call', 'settled'>`. */
export type EntryOf<T extends Entry['type'], Op extends string = string> =
  Extract<Entry, { type: T }> extends infer E ? (E extends { op: string } ? Extract<E, { op: Op }> : E) : never

/**
 * A pure function of the log. The same entries give the same state, on any machine.
 *
 * @example
 * const calls: Fold<number> = { key: 'calls', initial: 0, apply: (n, e) => (e.type === 'call' && e.op === 'settled' ? n + 1 : n) }
 */
export interface Fold<S> {
  /** Names the cached value; unique among the folds of a run. */
  readonly key: string
  readonly initial: S
  apply(state: S, entry: Entry): S
  /** The same in steps, for a fold that looks at large values: `HookContext.foldInTurns` uses it. */
  steps?(state: S, entry: Entry): Steps<S>
}
