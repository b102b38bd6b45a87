import type { Sent } from '../stream/read-cursor.ts'
import type { ExecuteComplete } from './completion.ts'
import type { SessionEvents } from './session-reader.ts'

/**
 * Yields events as frames of server-sent events, each under its id, and `execute_complete` at the end. A stream that ends
 * without it was cut: the client can reconnect with `Last-Event-ID`.
 */
export async function* eventFrames(events: SessionEvents): AsyncGenerator<Iterable<string>, void, undefined> {
  let seq = 0
  function* framesOf(sent: readonly Sent[]): Generator<string, void, undefined> {
    for (const { item, id } of sent) {
      const line = id === undefined ? '' : `id: ${lineOf(id)}\n`
      yield `${line}event: ${item.event.type}\ndata: {"seq":${++seq},`
      // Yielded separately: all live readers share this text.
      yield item.json()
      yield '\n\n'
    }
  }
  try {
    yield ['retry: 1000\n\n']
    for (;;) {
      const next = await events.next()
      if (next.done) {
        if (next.value) yield [completeFrame(next.value)]
        return
      }
      yield framesOf(next.value)
    }
  } finally {
    await events.return(undefined)
  }
}

function completeFrame(complete: ExecuteComplete): string {
  return `event: execute_complete\ndata: ${JSON.stringify(complete)}\n\n`
}

/** Removes line ends, which no field of a frame can hold. */
function lineOf(text: string): string {
  return text.replaceAll(/[\r\n\0]/gu, '')
}
