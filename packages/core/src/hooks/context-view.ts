import type { EventPayloads, ViewTrigger } from '../log/event.ts'
import type { Message, MessageInit } from '../messages/message.ts'
import type { Label } from '../values/label.ts'

/** The history that the next model call receives. */
export interface View {
  readonly messages: readonly Message[]
  /** The join of all its labels. */
  readonly label: Label
  /** Estimated tokens of the messages. */
  readonly tokens: number
  /** Estimated tokens of everything else in the request: system prompt, tools, ephemeral messages of the run. */
  readonly overhead: number
  /** `provider/model` of the next model, unless a `model.request` hook chooses another. */
  readonly model: string
  /** That model's window in tokens, where known. */
  readonly window?: number
  readonly trigger: ViewTrigger
}

/** Replaces a span of the view, both ends inclusive. The original messages stay in the log. */
export interface ViewEdit {
  /** A message id. */
  readonly from: string
  /** A message id. */
  readonly to: string
  /**
   * The messages that replace the span. A message of the span that is passed unchanged stays as it is. One that is passed
   * with its id and other content keeps its id, its role and its author.
   */
  readonly with: readonly (MessageInit | Message)[]
  /** Marks the edit as a compaction: `context.compacted` is emitted once the edit is recorded in the log. */
  readonly compacted?: EventPayloads['context.compacted']
}
