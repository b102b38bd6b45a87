import type { AgentEvent, ErrorInfo, Json, PendingWork, RunStatus, UsageReport } from '@provost/core'
import { isEventType, isRecord } from '@provost/core'
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
 * @throws ProvostError `unreachable` if the stream ends without its last frame.
 */
export async function* framesOf(response: Response): AsyncGenerator<Frame> {
  const frames: Frame[] = []
  const parser = createParser({
    onEvent({ id, data }) {
      const frame = frameOf(id, data)
      if (frame) frames.push(frame)
    },
  })
  const decoder = new TextDecoder()
  const reader = response.body?.getReader()
  try {
    for (;;) {
      const part = await reader?.read().catch((cause: unknown) => {
        throw lost('The event stream was interrupted.', cause)
      })
      if (!part || part.done) throw lost('The event stream ended before its run.')
      parser.feed(decoder.decode(part.value, { stream: true }))
      for (const frame of frames.splice(0)) {
        yield frame
        if ('complete' in frame) return
      }
    }
  } finally {
    reader?.cancel().catch(() => {})
  }
}

function frameOf(id: string | undefined, data: string): Frame | undefined {
  const value: unknown = JSON.parse(data)
  if (!isRecord(value)) return undefined
  if (isComplete(value)) return { complete: value }
  // A newer server may send unknown events.
  return isEvent(value) ? { id, event: value } : undefined
}

function isComplete(value: Record<string, unknown>): value is Record<string, unknown> & Complete {
  return value['type'] === 'execute_complete'
}

function isEvent(value: Record<string, unknown>): value is Record<string, unknown> & AgentEvent {
  return typeof value['type'] === 'string' && isEventType(value['type'])
}
