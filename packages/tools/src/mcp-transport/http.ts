import { setTimeout as sleep } from 'node:timers/promises'

import { ProvostError } from '@provost/core'
import { createParser } from 'eventsource-parser'
import type { EventSourceMessage } from 'eventsource-parser'

import { answeredId, cancelled, failureOf, listChanged, notificationOf, requestId } from './protocol.ts'
import type { AddMeta, McpListener } from './protocol.ts'
import { tooLong } from './stdio.ts'

const maxResumptions = 5
const defaultRetryMs = 1_000
const longestRetryMs = 30_000
const cancelTimeoutMs = 5_000
/** From this version on a server takes a closed stream for a cancellation. */
const cancelsByClosing = '2026-07-28'

/**
 * Returns a `fetch` for the HTTP transport of `@ai-sdk/mcp` that adds what it lacks. It bounds the length of messages,
 * resumes or fails a stream that ends without the response, and notifies the server of cancelled calls. Notifications and
 * the empty first event, which need no response, stay here.
 */
export function mcpFetch(maxMessageBytes: number, listener: McpListener, addMeta?: AddMeta): typeof fetch {
  return async (url, given) => {
    const init = addMeta ? withMeta(given, addMeta) : given
    const request = requestOf(init)
    const { id } = request
    const stopCancelling = id === undefined ? () => undefined : cancelOnAbort(id, request, url, init)
    let response: Response
    try {
      response = await fetch(url, init)
    } catch (error) {
      stopCancelling()
      throw error
    }
    const { status, headers } = response
    if (id !== undefined && response.ok && (status === 202 || status === 204 || !response.body)) {
      stopCancelling()
      return Response.json(failureOf(id, 'The server took the request and promised no answer.'))
    }
    if (!response.body) return response
    const bytes = isEventStream(response)
      ? answers(response.body, id, {
          maxMessageBytes,
          listener,
          signal: init?.signal ?? undefined,
          resume: (last) => openAgain(url, init, last),
        })
      : bounded(response.body, maxMessageBytes)
    return new Response(streamOf(bytes, stopCancelling), { status, headers })
  }
}

function withMeta(init: RequestInit | undefined, addMeta: AddMeta): RequestInit | undefined {
  if (init?.method !== 'POST' || typeof init.body !== 'string' || !init.body.includes('"tools/call"')) return init
  return { ...init, body: JSON.stringify(addMeta(JSON.parse(init.body))) }
}

interface Request {
  readonly id?: string | number
  readonly cancellable: boolean
}

/** Returns the request if it is a message of the protocol. The same `fetch` is used for authorization. */
function requestOf(init: RequestInit | undefined): Request {
  if (init?.method !== 'POST' || typeof init.body !== 'string') return { cancellable: false }
  try {
    const message: unknown = JSON.parse(init.body)
    const id = requestId(message)
    if (id === undefined) return { cancellable: false }
    const legacy = new Headers(init.headers).get('mcp-protocol-version') !== cancelsByClosing
    return { id, cancellable: legacy && !init.body.includes('"method":"initialize"') }
  } catch {
    return { cancellable: false }
  }
}

/** @returns stops listening. */
function cancelOnAbort(
  id: string | number,
  { cancellable }: Request,
  url: Parameters<typeof fetch>[0],
  init: RequestInit | undefined,
): () => void {
  const signal = init?.signal
  if (!cancellable || !signal) return () => undefined
  const cancel = (): void => {
    const body = JSON.stringify(cancelled(id))
    fetch(url, { ...init, body, signal: AbortSignal.timeout(cancelTimeoutMs) })
      .then((response) => response.body?.cancel())
      // The notification is best effort.
      .catch(() => undefined)
  }
  signal.addEventListener('abort', cancel, { once: true })
  return () => signal.removeEventListener('abort', cancel)
}

function openAgain(
  url: Parameters<typeof fetch>[0],
  init: RequestInit | undefined,
  lastEventId: string,
): Promise<Response> {
  const { body: _, ...rest } = init ?? {}
  const headers = new Headers(rest.headers)
  headers.delete('content-type')
  headers.set('accept', 'text/event-stream')
  headers.set('last-event-id', lastEventId)
  return fetch(url, { ...rest, method: 'GET', headers })
}

function isEventStream({ headers }: Response): boolean {
  return headers.get('content-type')?.includes('text/event-stream') ?? false
}

interface Stream {
  readonly maxMessageBytes: number
  readonly listener: McpListener
  readonly signal: AbortSignal | undefined
  resume(lastEventId: string): Promise<Response>
}

/** Returns the responses and requests of an event stream, as an event stream. */
async function* answers(
  body: ReadableStream<Uint8Array>,
  id: string | number | undefined,
  { maxMessageBytes, listener, signal, resume }: Stream,
): AsyncGenerator<Uint8Array> {
  const state: StreamState = { retryMs: defaultRetryMs }
  let from: ReadableStream<Uint8Array> | undefined = body
  let why = 'The server closed the stream without an answer.'
  for (let resumed = 0; from; resumed++) {
    try {
      for await (const event of events(from, maxMessageBytes, state)) {
        const message = parsed(event.data)
        const notification = notificationOf(message)
        if (notification === listChanged) listener.onListChanged()
        if (message === undefined || notification !== undefined) continue
        yield encoded(event)
        if (id !== undefined && answeredId(message) === id) return
      }
    } catch (error) {
      // The transport reopens the stream for messages of the server itself.
      if (id === undefined || signal?.aborted) throw error
      if (error instanceof ProvostError) {
        why = error.message
        break
      }
      why = 'The connection broke before the server had answered.'
    }
    if (id === undefined) return
    from = undefined
    if (state.lastEventId === undefined || resumed === maxResumptions) break
    await sleep(state.retryMs, undefined, signal && { signal })
    const response = await resume(state.lastEventId)
    if (response.ok && isEventStream(response)) from = response.body ?? undefined
    else await response.body?.cancel()
  }
  if (id !== undefined) yield encoded({ data: JSON.stringify(failureOf(id, why)) })
}

/** The resumption state of a stream. */
interface StreamState {
  lastEventId?: string
  retryMs: number
}

async function* events(
  body: ReadableStream<Uint8Array>,
  maxMessageBytes: number,
  state: StreamState,
): AsyncGenerator<EventSourceMessage> {
  let read: EventSourceMessage[] = []
  let overflow = false
  const parser = createParser({
    maxBufferSize: maxMessageBytes,
    onEvent: (event) => void read.push(event),
    onId: (id) => void (state.lastEventId = id),
    onRetry: (ms) => void (state.retryMs = Math.min(ms, longestRetryMs)),
    onError: (error) => void (overflow ||= error.type === 'max-buffer-size-exceeded'),
  })
  const decoder = new TextDecoder()
  for await (const chunk of body) {
    parser.feed(decoder.decode(chunk, { stream: true }))
    if (overflow || read.some(({ data }) => data.length > maxMessageBytes)) throw tooLongError(maxMessageBytes)
    yield* read
    read = []
  }
}

async function* bounded(body: ReadableStream<Uint8Array>, maxBytes: number): AsyncGenerator<Uint8Array> {
  let length = 0
  for await (const chunk of body) {
    length += chunk.length
    if (length > maxBytes) throw tooLongError(maxBytes)
    yield chunk
  }
}

function tooLongError(maxMessageBytes: number): ProvostError {
  return new ProvostError('mcp-message-too-long', tooLong(maxMessageBytes), {
    hint: 'Ask for less, or raise maxMessageBytes.',
  })
}

/** @param onEnd called when the stream ends or is cancelled. */
function streamOf(bytes: AsyncGenerator<Uint8Array>, onEnd: () => void): ReadableStream<Uint8Array> {
  return new ReadableStream({
    async pull(controller) {
      try {
        const step = await bytes.next()
        if (!step.done) return controller.enqueue(step.value)
        onEnd()
        controller.close()
      } catch (error) {
        onEnd()
        controller.error(error)
      }
    },
    cancel() {
      onEnd()
      // Takes effect when the read that is under way has ended, which need not be waited for.
      void bytes.return(undefined).catch(() => undefined)
    },
  })
}

function parsed(data: string): unknown {
  try {
    return JSON.parse(data)
  } catch {
    return undefined
  }
}

function encoded({ event, id, data }: EventSourceMessage): Uint8Array {
  const lines = data.split('\n').map((line) => `data: ${line}\n`)
  const text = `${event ? `event: ${event}\n` : ''}${id ? `id: ${id}\n` : ''}${lines.join('')}\n`
  return new TextEncoder().encode(text)
}
