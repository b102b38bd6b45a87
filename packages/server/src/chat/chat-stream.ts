import type { TurnProtocol } from '../turns/turn-response.ts'
import type { UiChunk } from './ui-stream.ts'
import { createUiStream } from './ui-stream.ts'

/** The AI SDK's UI message stream of a session. */
export function chatProtocol(sessionId: string): TurnProtocol<UiChunk> {
  return {
    mapperOf: ({ id, runId }) => createUiStream({ sessionId, runId, messageId: id }),
    encode: (chunk) => `data: ${JSON.stringify(chunk)}\n\n`,
    broken: (_, message) => ({ type: 'error', errorText: message }),
    tail: 'data: [DONE]\n\n',
    headers: { 'x-vercel-ai-ui-message-stream': 'v1' },
  }
}
