import type { ExecuteComplete } from './completion.ts'
import type { Sent } from './reader-place.ts'
import type { SessionEvents } from './session-reader.ts'

/** A response that is a stream of events. */
export interface EventStreamOptions {
  readonly heartbeatMs: number
  /** The stream is over, in whatever way. */
  closed(): void
}

const encoder = new TextEncoder()
/** That wait for the client, but for a single event that is longer. */
const bufferBytes = 65_536

/**
 * Events as server-sent events, each under its id, and `execute_complete` at the end. It is read as fast as the client
 * reads; a stream that ends without `execute_complete` was cut, and the client can come back with `Last-Event-ID`.
 */
export function eventStream(events: SessionEvents, options: EventStreamOptions): ReadableStream<Uint8Array> {
  const { heartbeatMs, closed } = options
  /** What was read and not yet written: of one who does not read, it is not made into text. */
  let waiting: Sent[] = []
  let seq = 0
  let heart: NodeJS.Timeout | undefined

  function over(): void {
    clearInterval(heart)
    waiting = []
    closed()
  }

  function nextFrames(): string {
    let frames = ''
    while (frames.length < bufferBytes) {
      const item = waiting.shift()
      if (!item) break
      frames += frameOf(item, ++seq)
    }
    return frames
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
          const next = waiting.length > 0 ? undefined : await events.next()
          if (!next?.done) {
            if (next) waiting = [...next.value]
            controller.enqueue(encoder.encode(nextFrames()))
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
    new ByteLengthQueuingStrategy({ highWaterMark: bufferBytes }),
  )
}

export function completeFrame(complete: ExecuteComplete): string {
  return `event: execute_complete\ndata: ${JSON.stringify(complete)}\n\n`
}

/** The event as a frame of server-sent events, under a reader's own number. */
function frameOf({ item, id }: Sent, seq: number): string {
  const line = id === undefined ? '' : `id: ${lineOf(id)}\n`
  return `${line}event: ${item.event.type}\ndata: {"seq":${seq},${item.json()}\n\n`
}

/** No field of a frame can hold the end of a line. */
function lineOf(text: string): string {
  return text.replaceAll(/[\r\n\0]/gu, '')
}
