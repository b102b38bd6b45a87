import { createEventEncoder } from '@provost/core'

import { completeId } from '../stream/cursor.ts'
import type { Sent } from '../stream/read-cursor.ts'
import type { ExecuteComplete } from './completion.ts'
import type { SessionEvents } from './session-reader.ts'

/** How events become frames. */
export interface FrameOptions {
  readonly sessionId: string
  /** Each frame is the whole event. */
  readonly verbose: boolean
  /** Id of the last event that the reader received earlier. */
  readonly after?: string | undefined
}

/** Writes frames of server-sent events, for one connection. */
interface FrameWriter {
  event(sent: Sent): Iterable<string>
  complete(complete: ExecuteComplete, id: string): string
}

/**
 * Yields events as frames of server-sent events, each under its id, and `execute_complete` at the end. A stream that ends
 * without it was cut: the client can reconnect with `Last-Event-ID`. The id of `execute_complete` says that there is
 * nothing to reconnect for, since an `EventSource` reconnects after each end.
 */
export async function* eventFrames(
  events: SessionEvents,
  { sessionId, verbose, after }: FrameOptions,
): AsyncGenerator<Iterable<string>, void, undefined> {
  const shortId = shortener(sessionId)
  const writer = verbose ? wholeFrames() : smallFrames(shortId)
  let last = after
  function* framesOf(sent: readonly Sent[]): Generator<string, void, undefined> {
    for (const one of sent) {
      last = one.id ?? last
      yield* writer.event(one)
    }
  }
  try {
    yield ['retry: 1000\n\n']
    for (;;) {
      const next = await events.next()
      if (next.done) {
        if (next.value) yield [writer.complete(next.value, completeId(last && shortId(last)))]
        return
      }
      yield framesOf(next.value)
    }
  } finally {
    await events.return(undefined)
  }
}

/** Returns a function that removes the session from an id. */
function shortener(sessionId: string): (id: string) => string {
  const prefix = `${sessionId}:`
  return (id) => (id.startsWith(prefix) ? id.slice(prefix.length) : id)
}

/** Writes what the reader does not know yet, under ids without the session. */
function smallFrames(shortId: (id: string) => string): FrameWriter {
  const encoder = createEventEncoder()
  return {
    *event({ event, item, id: whole }) {
      const id = whole === undefined ? undefined : shortId(whole)
      const frames = encoder.encode(event, item.log, id)
      for (const frame of frames) yield frameOf(frame === frames.at(-1) ? id : undefined, frame.event, frame.data)
    },
    complete(complete, id) {
      const { event, data } = encoder.complete(complete)
      return frameOf(id, event, data)
    },
  }
}

function wholeFrames(): FrameWriter {
  let seq = 0
  return {
    *event({ item, id }) {
      yield `${idLine(id)}event: ${item.event.type}\ndata: {"seq":${++seq},`
      // Yielded separately: all live readers share this text.
      yield item.json()
      yield '\n\n'
    },
    complete: (complete, id) => frameOf(id, complete.type, JSON.stringify(complete)),
  }
}

function frameOf(id: string | undefined, event: string, data: string): string {
  return `${idLine(id)}event: ${event}\ndata: ${data}\n\n`
}

/** Removes line ends, which no field of a frame can hold. */
function idLine(id: string | undefined): string {
  return id === undefined ? '' : `id: ${id.replaceAll(/[\r\n\0]/gu, '')}\n`
}
