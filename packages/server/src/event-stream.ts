import type { ExecuteComplete } from './completion.ts'
import { frameOf } from './feed.ts'
import type { SessionEvents } from './session-reader.ts'

/** A response that is a stream of events. */
export interface EventStreamOptions {
  readonly sessionId: string
  readonly heartbeatMs: number
  /** The stream is over, in whatever way. */
  closed(): void
}

const encoder = new TextEncoder()

/**
 * Events as server-sent events, each under its id, and `execute_complete` at the end. It is read as fast as the client
 * reads; a stream that ends without `execute_complete` was cut, and the client can come back with `Last-Event-ID`.
 */
export function eventStream(events: SessionEvents, options: EventStreamOptions): ReadableStream<Uint8Array> {
  const { sessionId, heartbeatMs, closed } = options
  let seq = 0
  let heart: NodeJS.Timeout | undefined

  function over(): void {
    clearInterval(heart)
    closed()
  }

  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        controller.enqueue(encoder.encode('retry: 1000\n\n'))
        heart = setInterval(() => {
          if ((controller.desiredSize ?? 0) > 0) controller.enqueue(encoder.encode(': still here\n\n'))
        }, heartbeatMs)
        heart.unref()
      },
      async pull(controller) {
        try {
          const next = await events.next()
          if (!next.done) {
            let frames = ''
            for (const item of next.value) frames += frameOf(sessionId, item, ++seq)
            controller.enqueue(encoder.encode(frames))
            return
          }
          if (next.value) controller.enqueue(encoder.encode(completeFrame(next.value)))
          controller.close()
          over()
        } catch (thrown) {
          over()
          controller.error(thrown)
        }
      },
      async cancel() {
        over()
        await events.return(undefined)
      },
    },
    new ByteLengthQueuingStrategy({ highWaterMark: 65_536 }),
  )
}

export function completeFrame(complete: ExecuteComplete): string {
  return `event: execute_complete\ndata: ${JSON.stringify(complete)}\n\n`
}
