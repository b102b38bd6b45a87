import type { OperationSetup } from '../api/operation-setup.ts'
import type { LiveSession } from '../sessions/live-session.ts'
import { followSession } from '../sessions/session-reader.ts'
import { compressionOf } from '../stream/stream-response.ts'
import type { BegunTurn } from './begin-turn.ts'
import { sessionTurns } from './session-turn.ts'
import type { TurnMapper, TurnProgress } from './turn-mapper.ts'
import { turnFrames } from './turn-mapper.ts'
import type { TurnProtocol } from './turn-response.ts'
import { turnResponse } from './turn-response.ts'

/** A turn that a client reads. */
export interface TurnReading {
  readonly setup: OperationSetup
  readonly request: Request
  readonly begun: BegunTurn
  /** A client that leaves stops the run of the turn. */
  readonly aborts: boolean
  /** Ends the count of the principal's streams. */
  release(): void
}

/** Returns the frames of a turn as a stream. */
export function streamedTurn<Frame>(
  { setup, request, begun, aborts, release }: TurnReading,
  protocol: TurnProtocol<Frame>,
): Response {
  const { host, limits, connections, compression, report } = setup
  const { live, after, turn, isAsked } = begun
  const control = connections.control(live.id)
  const reading = { host, live, waitingBytes: limits.waitingBytes, signal: control.signal }
  return turnResponse(
    {
      sessionId: live.id,
      events: followSession(reading, after),
      turns: sessionTurns(turn),
      isAsked,
      heartbeatMs: limits.heartbeatMs,
      compression: compressionOf(request, compression),
      connections,
      control,
      closed(run) {
        release()
        if (run === undefined || !aborts) return
        // The run of the turn may be over, and that of another one in progress.
        if (lastRun(live) === run) live.session.abort().catch((thrown: unknown) => report(thrown, { request }))
      },
      failed: (thrown) => report(thrown, { request, sessionId: live.id }),
    },
    protocol,
  )
}

/** Resolves when a mapper has all events of a turn. A client that leaves before it stops the run. */
export async function waitForTurn<Frame>(
  { setup, request, begun, aborts, release }: TurnReading,
  mapper: TurnMapper<Frame>,
): Promise<void> {
  const { host, limits, connections } = setup
  const { live, after, turn, isAsked } = begun
  const control = connections.control(live.id)
  const leave = (): void => control.abort()
  request.signal.addEventListener('abort', leave, { once: true })
  const progress: TurnProgress = { run: undefined, over: false }
  const reading = { host, live, waitingBytes: limits.waitingBytes, signal: control.signal }
  const events = followSession(reading, after)
  try {
    for await (const _ of turnFrames({ events, turns: sessionTurns(turn), isAsked }, () => mapper, progress));
    const isOpen = !progress.over && (progress.run === undefined || progress.run === lastRun(live))
    if (aborts && request.signal.aborted && isOpen) await live.session.abort()
  } finally {
    request.signal.removeEventListener('abort', leave)
    await events.return(undefined)
    connections.done(control)
    control.abort()
    release()
  }
}

/** Returns the last run of a session in this process. */
function lastRun({ feed }: LiveSession): string | undefined {
  return feed.retained().findLast(({ event }) => event.parents.length === 0)?.event.runId
}
