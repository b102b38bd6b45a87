import type { Connections } from '../http/connections.ts'
import { responseStatus } from '../http/http-error.ts'
import { frameStream } from '../stream/frame-stream.ts'
import type { Compression } from '../stream/stream-response.ts'
import { streamResponse } from '../stream/stream-response.ts'
import type { SessionTurn } from './session-turn.ts'
import type { TurnEvents, TurnMapper, TurnProgress } from './turn-mapper.ts'
import { turnFrames } from './turn-mapper.ts'

/** How a protocol writes the frames of a turn. */
export interface TurnProtocol<Frame> {
  mapperOf(turn: SessionTurn): TurnMapper<Frame>
  /** Returns a frame as a server-sent event. */
  encode(frame: Frame): string
  /** Returns the frame that reports an error of the stream itself. */
  broken(code: string, message: string): Frame
  /** What follows the last frame. */
  readonly tail: string
  readonly headers?: Readonly<Record<string, string>>
}

/** The response that streams a turn. */
export interface TurnResponse extends TurnEvents {
  readonly sessionId: string
  readonly heartbeatMs: number
  readonly compression: Compression
  readonly connections: Connections
  readonly control: AbortController
  /** Called once when the response has ended. @param run the run of the turn, if the client left before its end. */
  closed(run: string | undefined): void
  failed(thrown: unknown): void
}

/** Returns the response with the frames of one turn. */
export function turnResponse<Frame>(response: TurnResponse, protocol: TurnProtocol<Frame>): Response {
  const { sessionId, heartbeatMs, compression, connections, control, closed, failed } = response
  const progress: TurnProgress = { run: undefined, over: false }
  const stream = frameStream(texts(response, protocol, progress), {
    heartbeatMs,
    failed,
    closed() {
      connections.done(control)
      control.abort()
      closed(progress.over ? undefined : progress.run)
    },
  })
  return streamResponse(stream, compression, { 'x-session-id': sessionId, ...protocol.headers })
}

async function* texts<Frame>(
  response: TurnResponse,
  protocol: TurnProtocol<Frame>,
  progress: TurnProgress,
): AsyncGenerator<Iterable<string>, void, undefined> {
  const { events, failed } = response
  const { encode, broken, tail } = protocol
  const encoded = function* (frames: readonly Frame[]): Generator<string, void, undefined> {
    for (const frame of frames) yield encode(frame)
  }
  try {
    for await (const frames of turnFrames(response, (turn) => protocol.mapperOf(turn), progress)) yield encoded(frames)
    // A client would take an answer that was cut for a complete one.
    if (!progress.over) yield encoded([broken('stream-cut', 'The server ended the stream. Load the answer again.')])
  } catch (thrown) {
    failed(thrown)
    const { code, message } = responseStatus(thrown).error
    yield encoded([broken(code, message)])
  } finally {
    await events.return(undefined)
  }
  if (tail !== '') yield [tail]
}
