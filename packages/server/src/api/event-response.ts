import type { Principal } from '@provost/core'

import { eventFrames } from '../sessions/event-stream.ts'
import type { LiveSession, WatchedSession } from '../sessions/live-session.ts'
import type { Following, SessionEvents } from '../sessions/session-reader.ts'
import { followSession } from '../sessions/session-reader.ts'
import type { Cursor } from '../stream/cursor.ts'
import { writeCursor } from '../stream/cursor.ts'
import { origin } from '../stream/event-position.ts'
import { frameStream } from '../stream/frame-stream.ts'
import { acceptsGzip } from '../stream/gzip.ts'
import { streamResponse } from '../stream/stream-response.ts'
import type { OperationSetup } from './operation-setup.ts'

/** The form of a stream, as the request asks for it. */
export interface StreamForm {
  /** Each frame is the whole event. */
  readonly verbose: boolean
  readonly gzip: boolean
}

/** The query of operations that stream events. */
export interface StreamQuery {
  readonly verbose?: '0' | '1' | undefined
}

export function formOf(request: Request, { verbose }: StreamQuery): StreamForm {
  return { verbose: verbose === '1', gzip: acceptsGzip(request.headers.get('accept-encoding')) }
}

/** Returns the events of a session as a response. The response counts as one of the principal's streams. */
export function streamed(
  { limits, connections, report, compression }: OperationSetup,
  live: LiveSession | WatchedSession,
  principal: Principal,
  { verbose, gzip }: StreamForm,
  open: (signal: AbortSignal) => SessionEvents,
  after?: Cursor,
): Response {
  const release = connections.take(principal.id)
  const control = connections.control(live.id)
  const events = ((): SessionEvents => {
    try {
      return open(control.signal)
    } catch (thrown) {
      release()
      connections.done(control)
      throw thrown
    }
  })()
  const closed = (): void => {
    release()
    connections.done(control)
    control.abort()
  }
  const body = frameStream(eventFrames(events, { sessionId: live.id, verbose, after: after && idAt(live.id, after) }), {
    heartbeatMs: limits.heartbeatMs,
    closed,
    failed: (thrown) => report(thrown, { sessionId: live.id }),
  })
  return streamResponse(
    body,
    { offered: compression, accepted: gzip },
    { 'content-type': 'text/event-stream; charset=utf-8', 'x-session-id': live.id },
  )
}

/** Returns the events after a cursor, and those that follow, as a response. */
export function followed(
  setup: OperationSetup,
  live: LiveSession | WatchedSession,
  principal: Principal,
  form: StreamForm,
  after: Cursor,
  following: Following = {},
): Response {
  const { host, limits } = setup
  const { waitingBytes } = limits
  return streamed(
    setup,
    live,
    principal,
    form,
    (signal) => followSession({ host, live, signal, waitingBytes }, after, following),
    after,
  )
}

/** Returns the id of the last event before a cursor; undefined at the beginning. */
function idAt(sessionId: string, cursor: Cursor): string | undefined {
  return cursor.root === origin ? undefined : writeCursor(sessionId, cursor)
}
