import type { LanguageModelV4ToolCall, LanguageModelV4ToolResult, SharedV4ProviderMetadata } from '@ai-sdk/provider'
import type { FilePart, Json, Part, ToolCallPart, ToolOutput } from '@provost/core'
import { isRecord, ProvostError } from '@provost/core'

import type { AnyFileData } from './file-data.ts'
import { fromFileData } from './file-data.ts'
import type { StreamChunk, StreamPart } from './stream-part.ts'
import { callTokens, estimateTokens, partTokens } from './tokens.ts'
import { parseToolInput } from './tool-input.ts'

/** An answer under assembly. */
export interface Answer {
  /** Takes the next part of the stream and hands on its pieces. */
  take(part: StreamPart): void
  /** Ends open text and reasoning. */
  close(): void
  /**
   * Ends and returns all parts. A call with input but without its closing part counts.
   *
   * @param isCut the response ended within its last part, which may be a call without its input.
   */
  finish(isCut: boolean): Part[]
  /** Returns the parts of a failed response: incomplete text, but only complete calls. */
  parts(): Part[]
  /** Returns whether the provider executed a tool. */
  effects(): boolean
  /** Returns whether any charged output has arrived. */
  begun(): boolean
  /** Returns about how many tokens the model has written so far, including incomplete calls. */
  outputTokens(): number
  /** Returns the responding model, if the provider states it. */
  responseModel(): string | undefined
}

/** Far more than any model writes: a longer stream is broken or hostile. */
const maxCharacters = 64 * 1024 * 1024
/** Characters that a part counts in addition to its content. */
const partWeight = 16

interface Text {
  readonly type: 'text' | 'reasoning'
  readonly partId: string
  text: string
  metadata: SharedV4ProviderMetadata | undefined
  open: boolean
}
interface Call {
  readonly type: 'call'
  readonly index: number
  readonly callId: string
  readonly toolCallId: string
  readonly toolName: string
  readonly raw: boolean
  text: string
  metadata: SharedV4ProviderMetadata | undefined
  providerExecuted: boolean
  answered: boolean
  part: ToolCallPart | undefined
}
interface CompletePart {
  readonly type: 'whole'
  part: Part
}

/**
 * Assembles the parts of one response. Tolerates reused ids, interleaved parts, deltas without a start, calls without
 * deltas, deltas without a call, and repeated tool-call ids.
 */
export function createResponse(
  callId: (index: number) => string,
  listen: (piece: StreamChunk) => void,
  nameOf: (wireName: string) => string = (wireName) => wireName,
): Answer {
  const slots: (Text | Call | CompletePart)[] = []
  const texts = new Map<string, Text>()
  let reasonings: Map<string, Text> | undefined
  /** Calls whose input is still coming, by the provider's id: oldest first, since an id may be used twice. */
  const waiting = new Map<string, Call[]>()
  const byToolCallId = new Map<string, Call>()
  let results: Map<string, CompletePart> | undefined
  let calls = 0
  let size = 0
  let effects = false
  let responseModel: string | undefined

  function weigh(characters: number): void {
    size += characters
    if (size > maxCharacters)
      throw new ProvostError('answer-too-large', `The model wrote more than ${maxCharacters} characters.`, {
        hint: 'Set settings.maxOutputTokens, or check which server responds at this address.',
      })
  }

  function startText(type: 'text' | 'reasoning', id: string, metadata?: SharedV4ProviderMetadata): Text {
    weigh(partWeight + id.length)
    const open = type === 'text' ? texts : (reasonings ??= new Map())
    const earlier = open.get(id)
    if (earlier) endText(earlier)
    const slot: Text = { type, partId: `${slots.length}`, text: '', metadata, open: true }
    slots.push(slot)
    open.set(id, slot)
    listen({ type: type === 'text' ? 'text-start' : 'reasoning-start', partId: slot.partId })
    return slot
  }

  function endText(slot: Text): void {
    if (!slot.open) return
    slot.open = false
    listen({ type: slot.type === 'text' ? 'text-end' : 'reasoning-end', partId: slot.partId, text: slot.text })
  }

  function addText(type: 'text' | 'reasoning', part: Extract<StreamPart, { delta: string }>): void {
    const slot = (type === 'text' ? texts : reasonings)?.get(part.id) ?? startText(type, part.id)
    if (part.providerMetadata) slot.metadata = part.providerMetadata
    const { delta } = part
    if (delta === '') return
    weigh(delta.length)
    slot.text += delta
    listen({ type: type === 'text' ? 'text-delta' : 'reasoning-delta', partId: slot.partId, delta })
  }

  function closeText(type: 'text' | 'reasoning', id: string, metadata?: SharedV4ProviderMetadata): void {
    const open = type === 'text' ? texts : reasonings
    const slot = open?.get(id)
    if (!slot) return
    open?.delete(id)
    if (metadata) slot.metadata = metadata
    endText(slot)
  }

  function startCall(
    toolCallId: string,
    wireName: string,
    raw: boolean,
    providerExecuted: boolean,
    metadata?: SharedV4ProviderMetadata,
  ): Call {
    weigh(partWeight + toolCallId.length + wireName.length)
    const toolName = nameOf(wireName)
    const index = calls
    calls += 1
    const call: Call = {
      type: 'call',
      index,
      callId: callId(index),
      toolCallId,
      toolName,
      raw,
      text: '',
      metadata,
      providerExecuted,
      answered: false,
      part: undefined,
    }
    slots.push(call)
    listen({ type: 'tool-call-start', index, callId: call.callId, toolName })
    return call
  }

  function endCall(call: Call, input: Json): void {
    const { index, toolCallId, toolName, metadata, providerExecuted } = call
    call.part = {
      type: 'tool-call',
      callId: call.callId,
      toolCallId,
      toolName,
      input,
      ...(providerExecuted && { providerExecuted: true }),
      ...(metadata && { providerOptions: metadata }),
    }
    byToolCallId.set(toolCallId, call)
    if (providerExecuted) effects = true
    listen({
      type: 'tool-call-end',
      index,
      callId: call.callId,
      toolName,
      input,
      ...(providerExecuted && { providerExecuted: true }),
    })
  }

  function takeCall(part: LanguageModelV4ToolCall): void {
    const queue = waiting.get(part.toolCallId)
    const call = queue?.shift() ?? startCall(part.toolCallId, part.toolName, false, part.providerExecuted === true)
    if (part.providerMetadata) call.metadata = part.providerMetadata
    if (part.providerExecuted) call.providerExecuted = true
    // Some community providers hand over the object instead of its text.
    const input: unknown = part.input
    const text = typeof input === 'string' ? input : (JSON.stringify(input) ?? '')
    weigh(text.length)
    endCall(call, parseToolInput(text))
  }

  function takeResult(part: LanguageModelV4ToolResult): void {
    effects = true
    const given: unknown = part.result
    const text = typeof given === 'string' ? given : (JSON.stringify(given) ?? 'null')
    weigh(partWeight + part.toolCallId.length + text.length)
    const call = byToolCallId.get(part.toolCallId)
    if (call) call.answered = true
    const value = typeof given === 'string' ? given : parseToolInput(text)
    const output: ToolOutput = part.isError
      ? { type: 'error-json', value }
      : typeof value === 'string'
        ? { type: 'text', value }
        : { type: 'json', value }
    const result: Part = {
      type: 'tool-result',
      callId: call?.callId ?? part.toolCallId,
      toolCallId: part.toolCallId,
      toolName: nameOf(part.toolName),
      output,
      ...(part.providerMetadata && { providerOptions: part.providerMetadata }),
    }
    // A preliminary result is replaced by the next one for its call.
    const earlier = results?.get(part.toolCallId)
    if (earlier) earlier.part = result
    else addWhole(result, part.preliminary ? part.toolCallId : undefined)
    if (!part.preliminary) results?.delete(part.toolCallId)
  }

  function addWhole(part: Part, replaceable?: string): void {
    const slot: CompletePart = { type: 'whole', part }
    slots.push(slot)
    if (replaceable !== undefined) (results ??= new Map()).set(replaceable, slot)
  }

  function takeFile(
    type: FilePart['type'],
    part: { data: AnyFileData; mediaType: string; providerMetadata?: SharedV4ProviderMetadata },
  ): void {
    const data = fromFileData(part.data)
    weigh(partWeight + JSON.stringify(data).length)
    const file: FilePart = {
      type,
      data,
      mediaType: part.mediaType,
      ...(part.providerMetadata && { providerOptions: part.providerMetadata }),
    }
    addWhole(file)
    listen({ type: 'file', file })
  }

  function take(part: StreamPart): void {
    if ('providerMetadata' in part && part.providerMetadata) weigh(JSON.stringify(part.providerMetadata).length)
    switch (part.type) {
      case 'text-delta':
        return addText('text', part)
      case 'reasoning-delta':
        return addText('reasoning', part)
      case 'tool-input-delta': {
        const call = waiting.get(part.id)?.at(-1)
        if (!call || part.delta === '') return
        weigh(part.delta.length)
        call.text += part.delta
        const { index, toolName } = call
        return listen({ type: 'tool-call-delta', index, callId: call.callId, toolName, delta: part.delta })
      }
      case 'text-start':
        startText('text', part.id, part.providerMetadata)
        return
      case 'reasoning-start':
        startText('reasoning', part.id, part.providerMetadata)
        return
      case 'text-end':
        return closeText('text', part.id, part.providerMetadata)
      case 'reasoning-end':
        return closeText('reasoning', part.id, part.providerMetadata)
      case 'tool-input-start': {
        const raw = 'inputEncoding' in part && part.inputEncoding === 'text'
        const executed = part.providerExecuted === true
        const call = startCall(part.id, part.toolName, raw, executed, part.providerMetadata)
        const queue = waiting.get(part.id)
        if (queue) queue.push(call)
        else waiting.set(part.id, [call])
        return
      }
      case 'tool-input-end': {
        const call = waiting.get(part.id)?.at(-1)
        if (call && part.providerMetadata) call.metadata = part.providerMetadata
        return
      }
      case 'tool-call':
        return takeCall(part)
      case 'tool-result':
        return takeResult(part)
      case 'file':
      case 'reasoning-file':
        return takeFile(part.type, part)
      case 'custom':
        weigh(partWeight)
        return addWhole({
          type: 'custom',
          kind: part.kind,
          ...(part.providerMetadata && { providerOptions: part.providerMetadata }),
        })
      case 'source':
        weigh(partWeight + JSON.stringify(part).length)
        return listen(
          part.sourceType === 'url'
            ? { type: 'source', url: part.url, ...(part.title !== undefined && { title: part.title }) }
            : { type: 'source', title: part.title, mediaType: part.mediaType },
        )
      case 'response-metadata':
        if (part.modelId) responseModel = part.modelId
        return
      // The metadata of the whole call belongs to the caller; other metadata is not about the response.
      case 'finish':
      case 'error':
      case 'stream-start':
      case 'tool-approval-request':
      case 'ping':
      case 'raw':
        return
    }
  }

  function close(): void {
    for (const slot of slots) if (slot.type === 'text' || slot.type === 'reasoning') endText(slot)
  }

  return {
    take,
    close,
    finish: (isCut) => {
      close()
      const last = slots.at(-1)
      const cut = isCut && last?.type === 'call' ? last : undefined
      for (const slot of slots) {
        if (slot.type !== 'call' || slot.part) continue
        if (!slot.raw) endCall(slot, parseToolInput(slot.text))
        else if (slot !== cut) endCall(slot, slot.text)
      }
      // No text is read as {}, which is valid input of many tools. As a text it is reported to the model.
      if (cut?.part && cut.text === '' && !cut.providerExecuted && isEmptyObject(cut.part.input))
        cut.part = { ...cut.part, input: '' }
      return partsOf(slots, () => true)
    },
    parts: () => partsOf(slots, (call) => !call.providerExecuted || call.answered),
    effects: () => effects,
    begun: () => slots.length > 0,
    outputTokens: () => slots.reduce((sum, slot) => sum + tokensOf(slot), 0),
    responseModel: () => responseModel,
  }
}

function isEmptyObject(input: Json): boolean {
  return isRecord(input) && Object.keys(input).length === 0
}

function tokensOf(slot: Text | Call | CompletePart): number {
  switch (slot.type) {
    case 'text':
    case 'reasoning':
      return estimateTokens(slot.text)
    case 'call':
      return callTokens(slot.toolName, slot.part ? JSON.stringify(slot.part.input) : slot.text)
    case 'whole':
      // The model did not write the result of the provider's tool.
      return slot.part.type === 'tool-result' ? 0 : partTokens(slot.part)
  }
}

function partsOf(slots: readonly (Text | Call | CompletePart)[], keeps: (call: Call) => boolean): Part[] {
  const parts: Part[] = []
  for (const slot of slots) {
    switch (slot.type) {
      case 'text':
      case 'reasoning': {
        const { type, text, metadata } = slot
        if (text !== '' || metadata) parts.push({ type, text, ...(metadata && { providerOptions: metadata }) })
        break
      }
      case 'call':
        if (slot.part && keeps(slot)) parts.push(slot.part)
        break
      case 'whole':
        parts.push(slot.part)
        break
    }
  }
  return parts
}
