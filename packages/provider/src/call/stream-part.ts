import type { LanguageModelV3StreamPart, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import type { FilePart, Json } from '@provost/core'

/** A part of the stream of a model of either specification. */
export type StreamPart = LanguageModelV4StreamPart | LanguageModelV3StreamPart

/** A piece of a response while it streams. Every start has its end, except for calls that were cut off. */
export type StreamChunk =
  | { readonly type: 'text-start' | 'reasoning-start'; readonly partId: string }
  | { readonly type: 'text-delta' | 'reasoning-delta'; readonly partId: string; readonly delta: string }
  | { readonly type: 'text-end' | 'reasoning-end'; readonly partId: string; readonly text: string }
  | { readonly type: 'tool-call-start'; readonly index: number; readonly callId: string; readonly toolName: string }
  | {
      readonly type: 'tool-call-delta'
      readonly index: number
      readonly callId: string
      readonly toolName: string
      readonly delta: string
    }
  | {
      readonly type: 'tool-call-end'
      readonly index: number
      readonly callId: string
      readonly toolName: string
      readonly input: Json
      readonly providerExecuted?: true
    }
  | { readonly type: 'file'; readonly file: FilePart }
  | { readonly type: 'source'; readonly url?: string; readonly title?: string; readonly mediaType?: string }
