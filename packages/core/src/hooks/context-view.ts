import type { EventPayloads, ViewTrigger } from '../log/event.ts'
import type { Message, MessageInit } from '../messages/message.ts'
import type { Label } from '../values/label.ts'

/** What the model is about to see. */
export interface View {
  readonly messages: readonly Message[]
  /** The join over all of it. */
  readonly label: Label
  /** Of the messages, an estimate. */
  readonly tokens: number
  /** Tokens of what is sent beside them, an estimate: the system prompt, the tools, what the run keeps in its tail. */
  readonly overhead: number
  /** `provider/model` of the model that is asked next, unless a `model.request` hook chooses another. */
  readonly model: string
  /** That model's window in tokens, where known. */
  readonly window?: number
  readonly trigger: ViewTrigger
}

/** Replaces a stretch of the view, both ends inclusive. What was said stays in the log. */
export interface ViewEdit {
  /** A message id. */
  readonly from: string
  /** A message id. */
  readonly to: string
  /**
   * What stands there from then on. A message of the stretch that is given again stays what it is; one that is given
   * with its id and other content keeps its id, its role and whoever wrote it.
   */
  readonly with: readonly (MessageInit | Message)[]
  /** Makes it a compaction: emitted as `context.compacted` once the edit stands in the log. */
  readonly compacted?: EventPayloads['context.compacted']
}
