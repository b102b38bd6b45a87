import { logEvents } from '@provost/agent'
import type { Json, Message, SessionStore } from '@provost/core'
import type { UIMessage, UIMessageChunk } from 'ai'

import { HttpError } from '../http/http-error.ts'
import type { ClientRedaction } from '../http/public-errors.ts'
import { sessionTurns } from '../turns/session-turn.ts'
import { fileAddress } from './chat-file.ts'
import type { UiChunk } from './ui-stream.ts'
import { createUiStream } from './ui-stream.ts'

/** A message as `useChat` takes it. */
type ChatMessage = { readonly id: string; readonly role: 'user' | 'assistant' } & { readonly [key: string]: Json }

interface Turn {
  readonly id: string
  readonly runId: string
  readonly asked: Message[]
  readonly chunks: UiChunk[]
}

/**
 * Returns the messages of a chat as `useChat` takes them. An answer is made from the chunks that its stream had, so both
 * are the same.
 *
 * @param chat id of the chat, for the addresses of its files.
 * @throws HttpError 501 if `ai` is not installed.
 */
export async function chatMessages(
  store: SessionStore,
  sessionId: string,
  chat: string,
  redaction: ClientRedaction,
): Promise<readonly (ChatMessage | UIMessage)[]> {
  const { readUIMessageStream } = await load()
  const messages: (ChatMessage | UIMessage)[] = []
  for await (const { asked, chunks } of turnsOf(store, sessionId, redaction)) {
    messages.push(...asked.map((message) => userMessage(message, chat)))
    if (chunks.length === 0) continue
    let answer: UIMessage | undefined
    for await (const state of readUIMessageStream({ stream: streamOf(chunks) })) answer = state
    if (answer) messages.push(answer)
  }
  return messages
}

async function* turnsOf(store: SessionStore, sessionId: string, redaction: ClientRedaction): AsyncGenerator<Turn> {
  const log = logEvents(sessionId)
  const turns = sessionTurns()
  let last: Turn | undefined
  let stream: ReturnType<typeof createUiStream> | undefined
  for await (const entry of store.read(sessionId)) {
    for (const logged of log.take(entry)) {
      const event = redaction.event(logged.event)
      const turn = turns.take(event)
      if (!turn) continue
      if (turn.id !== last?.id) {
        if (last) yield last
        const { id, runId } = turn
        last = { id, runId, asked: [], chunks: [] }
        stream = createUiStream({ sessionId, runId, messageId: id })
      }
      for (const message of event.parents.length === 0 ? userMessages(event) : []) {
        if (!last.asked.some(({ id }) => id === message.id)) last.asked.push(message)
      }
      last.chunks.push(...(stream?.take(event) ?? []))
    }
  }
  if (last) yield last
}

function userMessages(event: ReturnType<ClientRedaction['event']>): readonly Message[] {
  if (event.type === 'agent.start') return event.input.filter(({ role, purpose }) => role === 'user' && !purpose)
  const isUser = event.type === 'message.end' && event.message.role === 'user' && !event.message.purpose
  return isUser ? [event.message] : []
}

function userMessage({ id, content }: Message, chat: string): ChatMessage {
  const parts = content.flatMap((part): readonly Json[] => {
    if (part.type === 'text') return [{ type: 'text', text: part.text }]
    if (part.type !== 'file') return []
    const { data, mediaType, filename } = part
    const url =
      data.type === 'blob'
        ? fileAddress(chat, data.hash)
        : data.type === 'url'
          ? data.url
          : data.type === 'data'
            ? `data:${mediaType};base64,${data.data}`
            : undefined
    return url === undefined ? [] : [{ type: 'file', mediaType, url, ...(filename !== undefined && { filename }) }]
  })
  return { id, role: 'user', parts }
}

function streamOf(chunks: readonly UiChunk[]): ReadableStream<UIMessageChunk> {
  return new ReadableStream({
    start(controller) {
      // An error would break off the message: it is in the metadata of its end.
      for (const chunk of chunks) if (chunk.type !== 'error') controller.enqueue(asChunk(chunk))
      controller.close()
    },
  })
}

function asChunk(chunk: UiChunk): UIMessageChunk {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a property test reads each kind of chunk with the AI SDK's own schema
  return chunk as UIMessageChunk
}

async function load(): Promise<typeof import('ai')> {
  try {
    return await import('ai')
  } catch {
    throw new HttpError(501, {
      code: 'not-installed',
      message: 'The history of a chat needs the package ai on the server.',
      hint: 'Install ai beside @provost/server.',
    })
  }
}
