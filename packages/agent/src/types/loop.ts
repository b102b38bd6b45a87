import type {
  Ask,
  EffectStatus,
  ErrorInfo,
  FilterDescriptor,
  FinishReason,
  Json,
  Message,
  MessageInit,
  ModelFailure,
  QuestionSubject,
  ToolResult,
  Usage,
} from '@provost/core'

/** The message that asks the model to repair an answer. */
export interface Repair extends MessageInit {
  /** Set if the answer missed the output schema; the number of such requests is limited per run. */
  readonly of?: 'output'
}

/** A model failure without a recovery. */
export type FinalFailure = Omit<ModelFailure, 'label' | 'params' | 'tried'>

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

/** The outcome of a model step. */
export type StepOutcome = ModelAnswered | { readonly failure: FinalFailure }

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
  | { readonly result: ToolResult; readonly error?: ErrorInfo; readonly effectStatus?: EffectStatus }
) & { readonly by?: string }
