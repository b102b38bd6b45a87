import type {
  Ask,
  Decisions,
  ErrorInfo,
  FilterDescriptor,
  FinishReason,
  Json,
  Message,
  MessageInit,
  ModelFailure,
  ModelRequest,
  NewEntry,
  PendingWork,
  QuestionSubject,
  RunStatus,
  ToolCall,
  ToolResult,
  Usage,
} from '@provost/core'

import type { StepRequest } from './orchestrator.ts'

export type Handler<K extends keyof LoopAsks> = (
  ask: Extract<LoopAsk, { ask: K }>,
) => LoopAnswers[K] | Promise<LoopAnswers[K]>

/** The requests of the loop to its driver. */
export interface LoopAsks {
  /** Inputs that arrived from outside, before a step or where the run would end. */
  input: { readonly at: 'step' | 'end' }
  /** `options` holds the orchestrator's changes for this step; the request includes them. */
  model: { readonly request: ModelRequest; readonly options?: StepRequest }
  decide: { readonly calls: readonly ToolCall[] }
  /** `delivered` holds values from outside, by call id; those calls do not run. */
  execute: { readonly calls: readonly ToolCall[]; readonly delivered: Readonly<Record<string, Json>> }
  wait: { readonly pending: PendingWork }
  append: { readonly entries: readonly NewEntry[] }
  /** Emits an `extension` event of an orchestrator. */
  emit: { readonly name: string; readonly data: Json }
}

/** The answers of the driver. */
export interface LoopAnswers {
  input: readonly NewEntry[]
  model: ModelAnswered | { readonly failure: FinalFailure }
  decide: readonly Authorization[]
  execute: readonly ToolResult[]
  wait: Decisions | 'suspend'
  /** The offset of the last entry in the log. */
  append: { readonly offset: number }
  emit: void
}

/** The message that asks the model to repair an answer. */
export interface Repair extends MessageInit {
  /** Set if the answer missed the output schema; the number of such requests is limited per run. */
  readonly of?: 'output'
}

/** A model failure without a recovery. */
export type FinalFailure = Omit<ModelFailure, 'label' | 'tried'>

/** An answer of the model. */
export interface ModelAnswered {
  readonly message: Message
  readonly usage: Usage
  readonly finishReason: FinishReason
  /** `provider/model`; default the agent's. */
  readonly model?: string
  /** Counts from 1 in the step. Default 1. */
  readonly attempt?: number
  readonly cost?: number
  /** A human must approve the message before it counts. */
  readonly ask?: Ask
  /** The message is rejected: the model receives the reason and answers again. */
  readonly repair?: Repair
  /** The rejected message was held back and is not shown. */
  readonly unsaid?: true
}

/** What a handoff transfers. */
export interface TransferResult {
  /** The filter, with the text of a summary. */
  readonly filter: FilterDescriptor
  /** Messages of a hook that replace everything else. */
  readonly with?: readonly Message[]
}

/** The authorization of one call; `by` names the extension that decided. */
export type Authorization = (
  | {
      readonly proceed: Json
      /** For a handoff call: what is transferred, if it differs from its filter. */
      readonly crossing?: TransferResult
    }
  | { readonly deny: string; readonly code?: string }
  | {
      readonly ask: Ask
      readonly args?: Json
      /** What the question is about. Default: what the tool and the call declare. */
      readonly about?: QuestionSubject
    }
  | { readonly result: ToolResult; readonly error?: ErrorInfo }
) & { readonly by?: string }

/** One request of the loop to its driver. */
export type LoopAsk = { [K in keyof LoopAsks]: { readonly ask: K } & LoopAsks[K] }[keyof LoopAsks]

/** The loop as a generator: it yields requests and receives answers. It returns how the run ended. */
export type Loop = AsyncGenerator<LoopAsk, RunStatus, LoopAnswers[keyof LoopAnswers]>

/** The synchronous part of the loop: everything that takes time is a request to the driver. */
export type Turns = Generator<LoopAsk, RunStatus, LoopAnswers[keyof LoopAnswers]>

/** Handlers for `drive`. Without `input`, no input arrives from outside; without `emit`, there is no listener. */
export type LoopHandlers = { readonly [K in Exclude<keyof LoopAsks, 'input' | 'emit'>]: Handler<K> } & {
  readonly [K in 'input' | 'emit']?: Handler<K>
}
