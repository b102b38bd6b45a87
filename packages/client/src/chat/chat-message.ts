import type { JsonForm, Tool, UsageReport } from '@provost/core'
import type { UIDataTypes, UIMessage, UITools } from 'ai'

/** What the server tells of an answer. Usage and cost come with its end. */
export interface ChatMetadata {
  readonly sessionId: string
  readonly runId: string
  readonly usage?: UsageReport
  /** In US dollars, if all prices are known. */
  readonly cost?: number
}

/** Tools by their names, as the parts of messages have them. */
export type ChatTools<T extends Readonly<Record<string, Tool>>> = {
  [Name in keyof T & string]: T[Name] extends Tool<infer In, infer Out> ? { input: In; output: JsonForm<Out> } : never
}

/**
 * A message of `useChat` with the types of tools: the part `tool-refund` has the input and the output of `refund`.
 *
 * @example
 * import type { refund } from './agent.ts'
 * const { messages } = useChat<ChatMessage<{ refund: typeof refund }>>({ transport: chatTransport() })
 */
export type ChatMessage<T extends Readonly<Record<string, Tool>> = never> = UIMessage<
  ChatMetadata,
  UIDataTypes,
  [T] extends [never] ? UITools : ChatTools<T>
>
