import type { KnownKeys } from '@provost/core'
import { checkOptions, isRecord } from '@provost/core'
import type { ChatTransport, UIMessage, UIMessageChunk } from 'ai'
import { DefaultChatTransport } from 'ai'

/** Options of {@link chatTransport}. */
export interface ChatTransportOptions {
  /** Address of the chat. Default `/api/chat`. */
  readonly api?: string
  /** Agent of new chats. Default: the first one of the server. */
  readonly agent?: string
  /** Headers of each request, or a function that returns them. */
  readonly headers?: Record<string, string> | (() => Record<string, string> | Promise<Record<string, string>>)
  /** Which cookies a request has. Default: those of the page's own origin. */
  readonly credentials?: RequestCredentials
  readonly fetch?: typeof fetch
}

const keys = {
  api: true,
  agent: true,
  headers: true,
  credentials: true,
  fetch: true,
} satisfies KnownKeys<ChatTransportOptions>

/**
 * Returns a transport of `useChat` for the server's `/api/chat`. It sends only the last message, since the server has the
 * others, and `stop()` stops the run too, not only the page's stream. Needs the package `ai`.
 *
 * @throws ProvostError `unknown-option`
 *
 * @example
 * const { messages, sendMessage, stop } = useChat({ id, transport: chatTransport(), resume: true })
 */
export function chatTransport<Message extends UIMessage = UIMessage>(
  options: ChatTransportOptions = {},
): ChatTransport<Message> {
  checkOptions(options, keys, 'chatTransport', { baseUrl: 'Name the whole address: "api".', url: 'Name it "api".' })
  const { api = '/api/chat', agent, headers, credentials, fetch: given } = options
  const send = given ?? ((...asked: Parameters<typeof fetch>) => fetch(...asked))
  const inner = new DefaultChatTransport<Message>({
    api,
    fetch: send,
    ...(headers && { headers }),
    ...(credentials && { credentials }),
    prepareSendMessagesRequest: ({ id, messages, trigger, messageId, body }) => ({
      body: {
        ...body,
        id,
        message: messages.at(-1),
        trigger,
        ...(messageId !== undefined && { messageId }),
        ...(agent !== undefined && { agent }),
      },
    }),
  })

  async function stop(chatId: string, runId: string | undefined): Promise<void> {
    const own = typeof headers === 'function' ? await headers() : headers
    await send(`${api}/${encodeURIComponent(chatId)}/stop`, {
      method: 'POST',
      headers: { ...own, 'content-type': 'application/json' },
      body: JSON.stringify(runId === undefined ? {} : { runId }),
      keepalive: true,
      ...(credentials && { credentials }),
    })
  }

  /** Stops the run when the page stops its stream. */
  function stoppable(
    chatId: string,
    signal: AbortSignal | undefined,
  ): (stream: ReadableStream<UIMessageChunk>) => ReadableStream<UIMessageChunk> {
    let runId: string | undefined
    // The page has stopped in any case: an unreachable server ends nothing here.
    const abort = (): void => void stop(chatId, runId).catch(() => {})
    signal?.addEventListener('abort', abort, { once: true })
    return (stream) =>
      stream.pipeThrough(
        new TransformStream<UIMessageChunk, UIMessageChunk>({
          transform(chunk, controller) {
            if (chunk.type === 'start' && isRecord(chunk.messageMetadata))
              runId = String(chunk.messageMetadata['runId'])
            controller.enqueue(chunk)
          },
          flush() {
            signal?.removeEventListener('abort', abort)
          },
        }),
      )
  }

  return {
    // The server sends the answer in progress from its beginning.
    resumeStreamIsReplay: true,
    async sendMessages(request) {
      const through = stoppable(request.chatId, request.abortSignal)
      return through(await inner.sendMessages(request))
    },
    async reconnectToStream(request) {
      const stream = await inner.reconnectToStream(request)
      return stream && stoppable(request.chatId, request.abortSignal)(stream)
    },
  }
}
