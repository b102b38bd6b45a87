import type { AgentEvent, ErrorInfo, Json, PendingWork, RunStatus, UsageReport } from '@provost/core'
import { createEventDecoder, isRecord, ProvostError } from '@provost/core'
import { createParser } from 'eventsource-parser'

import { lost } from './transport.ts'

/** The last frame of a stream. */
export interface Complete {
  readonly type: 'execute_complete'
  readonly sessionId: string
  readonly runId?: string
  readonly status: RunStatus | 'idle'
  readonly text: string
  readonly pending: PendingWork
  readonly output?: Json
  readonly usage?: UsageReport
  readonly cost?: number
  readonly error?: ErrorInfo
}

/** An event, or the last frame. */
export type Frame = { readonly id: string | undefined; readonly event: AgentEvent } | { readonly complete: Complete }

/**
 * Yields the frames of a response as they arrive.
 *
 * @param signal stops reading, also where the given `fetch` ignores it.
 * @throws ProvostError `unreachable` if the stream ends without its last frame, or has a frame that is not JSON;
 * `invalid-frame` if a frame refers to one that has not arrived.
 */
export async function* framesOf(response: Response, signal: AbortSignal): AsyncGenerator<Frame> {
  const frames: Frame[] = []
  const eventDecoder = createEventDecoder()
  const parser = createParser({
    onEvent({ id, event: name = 'message', data: text }) {
      const data: unknown = JSON.parse(text)
      if (name === 'execute_complete' && isRecord(data)) {
        const complete = eventDecoder.complete(data)
        if (isComplete(complete)) frames.push({ complete })
        return
      }
      const event = eventDecoder.decode({ event: name, id, data })
      if (event) frames.push({ id, event })
    },
  })
  const feed = (text: string): void => {
    try {
      parser.feed(text)
    } catch (cause) {
      throw cause instanceof ProvostError ? cause : lost('The event stream has a frame that is not JSON.', cause)
    }
  }
  const decoder = new TextDecoder()
  const reader = response.body?.getReader()
  const stop = (): void => void reader?.cancel().catch(() => {})
  if (signal.aborted) stop()
  else signal.addEventListener('abort', stop, { once: true })
  try {
    for (;;) {
      const part = await reader?.read().catch((cause: unknown) => {
        throw lost('The event stream was interrupted.', cause)
      })
      if (!part || part.done) throw lost('The event stream ended before its run.')
      feed(decoder.decode(part.value, { stream: true }))
      for (const frame of frames.splice(0)) {
        yield frame
        if ('complete' in frame) return
      }
    }
  } finally {
    signal.removeEventListener('abort', stop)
    stop()
  }
}

function isComplete(value: Record<string, unknown>): value is Record<string, unknown> & Complete {
  return value['type'] === 'execute_complete'
}
