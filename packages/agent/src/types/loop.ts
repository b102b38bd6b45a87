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

/** What the loop asks of its driver. */
export interface LoopAsks {
  /** Whatever arrived from outside: before a step, or where the run would end. */
  input: { readonly at: 'step' | 'end' }
  /** `options` holds what an orchestrator wants otherwise in this step; the request shows it. */
  model: { readonly request: ModelRequest; readonly options?: StepRequest }
  decide: { readonly calls: readonly ToolCall[] }
  /** `delivered` holds, by call id, the values that came from outside: those calls do not run. */
  execute: { readonly calls: readonly ToolCall[]; readonly delivered: Readonly<Record<string, Json>> }
  wait: { readonly pending: PendingWork }
  append: { readonly entries: readonly NewEntry[] }
  /** What an orchestrator wants listeners to see: an `extension` event. */
  emit: { readonly name: string; readonly data: Json }
}

/** What the driver answers. */
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

/** What is wrong with an answer. */
export interface Repair extends MessageInit {
  /** It missed the output schema: how often a run is asked for that is counted. */
  readonly of?: 'output'
}

/** A failure that nobody knew a remedy for. */
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
  /** A human is asked before the message counts. */
  readonly ask?: Ask
  /** The message does not do: the model is told why and asked again. */
  readonly repair?: Repair
  /** What is to be repaired was held back, and is not shown. */
  readonly unsaid?: true
}

/** What is to cross a handoff. */
export interface TransferResult {
  /** With the text of a summary. */
  readonly filter: FilterDescriptor
  /** What a hook put in place of everything else. */
  readonly with?: readonly Message[]
}

/** The judgement of one call; `by` names who judged. */
export type Authorization = (
  | {
      readonly proceed: Json
      /** For the call of a handoff: what crosses, where that is not what its filter says. */
      readonly crossing?: TransferResult
    }
  | { readonly deny: string; readonly code?: string }
  | {
      readonly ask: Ask
      readonly args?: Json
      /** What the question is about; default what the tool and the call say of themselves. */
      readonly about?: QuestionSubject
    }
  | { readonly result: ToolResult; readonly error?: ErrorInfo }
) & { readonly by?: string }

/** One thing that the loop asks its driver for. */
export type LoopAsk = { [K in keyof LoopAsks]: { readonly ask: K } & LoopAsks[K] }[keyof LoopAsks]

/** The loop as a generator: it yields what it asks for, and is sent the answer. Its value is how the run ended. */
export type Loop = AsyncGenerator<LoopAsk, RunStatus, LoopAnswers[keyof LoopAnswers]>

/** The loop where nothing in it has to be waited for: all that takes time is asked of the driver. */
export type Turns = Generator<LoopAsk, RunStatus, LoopAnswers[keyof LoopAnswers]>

/** Answers for `drive`: without `input`, nothing arrives from outside; without `emit`, nobody listens. */
export type LoopHandlers = { readonly [K in Exclude<keyof LoopAsks, 'input' | 'emit'>]: Handler<K> } & {
  readonly [K in 'input' | 'emit']?: Handler<K>
}
