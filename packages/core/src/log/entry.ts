import type { FilterDescriptor, HandoffMode } from '../messages/handoff-filter.ts'
import type { Message, MessageInit, ToolOutput } from '../messages/message.ts'
import type { ErrorClass, FinishReason, Grant, Usage, UsageReport } from '../messages/usage.ts'
import type { QuestionSubject } from '../tools/question.ts'
import type { CallFlow, CallOutcome, ResultSource, ToolInfo } from '../tools/tool-info.ts'
import type { ErrorInfo } from '../values/error.ts'
import type { Json, JsonPointer, Timestamp } from '../values/json.ts'
import type { Label } from '../values/label.ts'
import type { JsonSchema } from '../values/schema.ts'
import type { Steps } from '../values/steps.ts'
import type { EffectMark, EffectStatus } from './effect.ts'
import type { ErrorSource, EventPayloads } from './event.ts'
import type { Principal, RunStatus } from './run-status.ts'

interface EntryBase {
  /** Derived from the position, so that appending the same step twice stores one entry. */
  readonly id: string
  /** Counts from 1 in its log, without a gap. */
  readonly offset: number
  readonly at: Timestamp
  readonly runId: string
  readonly step: number
  readonly agent: string
  readonly v: 1
}

/** What a run was started with. The process that resumes it must have the same. */
export interface Manifest {
  readonly agent: string
  /** As `createAgent({ version })` states it. */
  readonly version?: string
  /** Names of the tree-scoped extensions. */
  readonly extensions: readonly string[]
  readonly tools: readonly string[]
  /** What the model was told, as hashes. Absent in entries of earlier releases and of children. */
  readonly definitions?: DefinitionHashes
}

/** Hashes of what an agent tells its model: 16 hexadecimal digits of a SHA-256 each. */
export interface DefinitionHashes {
  /** Of the instructions; absent for a function, which may differ in each run. */
  readonly instructions?: string
  /** Of the definition of each offered tool, by name. */
  readonly tools: Readonly<Record<string, string>>
}

/** Why a policy made its decision. */
export interface GovernanceRow {
  readonly rule: string
  readonly callId?: string
  readonly sources: readonly string[]
  readonly evidence: Json
  /** The version of the called tool, where it declares one. */
  readonly sandbox?: ToolInfo['sandbox']
}

/** What the log of a run records about a wait of a child. */
export interface ChildWait {
  /** The key of the spawn. */
  readonly callId: string
  /** What the wait is about. */
  readonly toolName: string
  readonly input: Json
  /** The agent that waits. */
  readonly agent: string
  /** From the child down to the run that waits. */
  readonly runPath: readonly string[]
  readonly startedAt?: Timestamp
}

/** The body of a log entry, by `type` and `op`. */
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
  | {
      type: 'run'
      op: 'suspended'
      /** When the run has to be looked at: at its earliest deadline. Absent: when an answer comes. */
      due?: Timestamp
      /** The run waits for nothing: it made room for others at a step boundary. */
      yielded?: true
      /** Id of the last delivery that the run has read; absent in entries of earlier releases. */
      seen?: string
    }
  | {
      type: 'run'
      op: 'resumed'
      /** Of the code that resumes the run, where it differs from the code before. */
      manifest?: Manifest
    }
  | {
      type: 'run'
      op: 'ended'
      status: Exclude<RunStatus, 'suspended'>
      output?: Json
      error?: ErrorInfo
      source?: ErrorSource
      /** Of a child that runs elsewhere: when its end has to be reported again. */
      due?: Timestamp
      /** As in `suspended`. */
      seen?: string
    }
  | {
      type: 'message'
      message: Message
      via: 'input' | 'steer' | 'queue' | 'model' | 'tool' | 'system'
      /** The token of a wait: this answer counts only after a human has approved it. */
      held?: string
      /** Held back and returned to the model for repair: only the model sees it. */
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
      /** `generated`: made by a hook, not part of the conversation. */
      purpose?: 'generated'
    }
  /** A call that a composite makes. Calls of a model are in its message. */
  | {
      type: 'call'
      op: 'planned'
      callId: string
      parentCallId: string
      key: string
      toolName: string
      args: Json
      /** Where the arguments come from, if the composite followed its values. */
      flow?: CallFlow
    }
  /** The call is authorized when it is the last one of its step without a result. */
  | { type: 'call'; op: 'deferred'; callId: string }
  | {
      type: 'call'
      op: 'decided'
      callId: string
      outcome: 'proceed' | 'deny' | 'ask' | 'result'
      by: string
      /** The effective arguments, before the schema's transforms. */
      args: Json
      /** Hash of the arguments that the human is asked about: the approval holds only for them. */
      argsHash?: string
      reason?: string
    }
  | {
      type: 'call'
      op: 'started'
      callId: string
      argsHash?: string
      fence: number
      /** Repeatable without asking after a crash, so its start need not be on disk before it runs. */
      repeatable?: true
      /** Set where the ledger of effects admitted the call. */
      effect?: EffectMark
      /** Calls that run beside this one when a slot is free. Their start events follow from this entry, in call order. */
      announces?: readonly string[]
    }
  /** All operations of a composite wait for an answer from outside. */
  | { type: 'call'; op: 'parked'; callId: string }
  | {
      type: 'call'
      op: 'settled'
      callId: string
      outcome: CallOutcome
      via: ResultSource
      output: ToolOutput
      /** What the composite that made the call receives, where `output` does not contain it. */
      value?: Json
      label: Label
      fields?: Readonly<Record<JsonPointer, Label>>
      details?: Json
      error?: ErrorInfo
      /** The call ended without an answer, and may have taken effect. */
      unknown?: true
      /** The state of its effect in the ledger of effects, where the call has one. */
      effectStatus?: EffectStatus
      durationMs: number
    }
  | {
      type: 'wait'
      token: string
      kind: 'approval' | 'remote' | 'uncertain' | 'input'
      callId?: string
      reason?: string
      deadline?: Timestamp
      evidence?: Json
      sticky?: 'session'
      /** Shared by the calls that one step asks about together. */
      batch?: string
      /** A composite waits for it: the wait outlives the process. */
      parks?: true
      /** The schema of the answer to a question. */
      schema?: JsonSchema
      /** Of an approval: its subject, and what it is bound to. */
      about?: QuestionSubject
      /** The answer to the question is an approval. */
      approves?: true
      /** Of an uncertain call: the effect that is in doubt. */
      effectStatus?: EffectStatus
      /** The wait of a child, whose own log records it. This copy lets callers answer through the runs above. */
      child?: ChildWait
    }
  | { type: 'resolved'; token: string; value: Json; by: string }
  | {
      type: 'child'
      op: 'spawned'
      /** Also the id of the run that it starts. */
      callId: string
      /** The composite that spawns. */
      parentCallId?: string
      log: string
      agent: string
      /** It is a session of its own: `log` is its id, and any process runs it. */
      where?: 'any'
      /** Hash of the input: the same key must come with the same input. */
      inputHash?: string
      grant?: Grant
      /** Label of the input, without transferred messages, which have their own labels. */
      label: Label
      /** The part of the history that it received, as data: a summary has its text here. */
      filter?: FilterDescriptor
      /** SHA-256 of the transferred history; with `with`, of that. */
      hash?: string
      /** The complete input that replaces the original, where a hook rewrote it. */
      with?: readonly Message[]
    }
  /** The state of a child: recorded each time that it is suspended, and once when it ends. */
  | {
      type: 'child'
      op: 'joined'
      callId: string
      log: string
      status: RunStatus
      usage: UsageReport
      /** Calls that it and its descendants have made. */
      toolCalls: number
      /** Model responses that it and its descendants have received. */
      steps: number
      /** Handoffs that it and the agents it called have made; absent where there were none. */
      handoffs?: number
      label: Label
      /** What it and its descendants gave the host to check, and wrote to their logs. */
      bytes?: { readonly host: number; readonly log: number }
      /** The error of a failed child. */
      error?: ErrorInfo
    }
  | {
      type: 'handoff'
      from: string
      to: string
      mode: HandoffMode
      /** The transferred part, as data: a summary has its text here. */
      filter: FilterDescriptor
      /** SHA-256 of the transferred messages. */
      hash: string
      /** The call that requested it. The call itself is not transferred. */
      callId?: string
      /** Calls of the same step for other handoffs, which were not taken. They are not transferred either. */
      others?: readonly string[]
      /** The join over the labels of the transferred messages. */
      label?: Label
      /** The messages that replace them, where a hook rewrote them. */
      with?: readonly Message[]
      /** The process that resumes the session must have the same tree-scoped extensions for the target. */
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
  /** Ephemeral messages of a request, after the history: their hash and label; `with` only where they must survive a crash. */
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
/** An entry before the store assigns its offset. */
export type NewEntry = Omit<EntryBase, 'offset'> & Frozen<EntryBody>
/** The entries of one type, as in `EntryOf<'call', 'settled'>`. */
export type EntryOf<T extends Entry['type'], Op extends string = string> =
  Extract<Entry, { type: T }> extends infer E ? (E extends { op: string } ? Extract<E, { op: Op }> : E) : never

/**
 * A pure function of the log. The same entries give the same state on any machine.
 *
 * @example
 * const calls: Fold<number> = { key: 'calls', initial: 0, apply: (n, e) => (e.type === 'call' && e.op === 'settled' ? n + 1 : n) }
 */
export interface Fold<S> {
  /** Names the cached value; unique among the folds of a run. */
  readonly key: string
  readonly initial: S
  apply(state: S, entry: Entry): S
  /** The same in steps, for a fold that reads large values: `HookContext.foldInTurns` uses it. */
  steps?(state: S, entry: Entry): Steps<S>
}
