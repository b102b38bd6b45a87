import type { Connections } from '../http/connections.ts'
import { responseStatus } from '../http/http-error.ts'
import type { SessionEvents } from '../sessions/session-reader.ts'
import { frameStream } from '../stream/frame-stream.ts'
import type { ChatTurn, ChatTurns } from './chat-turn.ts'
import type { UiChunk, UiStream } from './ui-stream.ts'
import { createUiStream } from './ui-stream.ts'

const headers = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-vercel-ai-ui-message-stream': 'v1',
  'x-accel-buffering': 'no',
}

/** The turn that a response streams. */
export interface TurnStream {
  readonly sessionId: string
  readonly events: SessionEvents
  readonly turns: ChatTurns
  /** Whether the response streams this turn. */
  isAsked(turn: ChatTurn): boolean
}

/** The response that streams a turn. */
export interface ChatResponse extends TurnStream {
  readonly heartbeatMs: number
  readonly connections: Connections
  readonly control: AbortController
  /** Called once when the response has ended. @param run the run of the turn, if the client left before its end. */
  closed(run: string | undefined): void
  failed(thrown: unknown): void
}

/** Returns the response with the chunks of one turn, in the AI SDK's UI message stream. */
export function chatResponse(response: ChatResponse): Response {
  const { sessionId, heartbeatMs, connections, control, closed, failed } = response
  const progress: Progress = { run: undefined, over: false }
  const stream = frameStream(frames(response, progress), {
    heartbeatMs,
    failed,
    closed() {
      connections.done(control)
      control.abort()
      closed(progress.over ? undefined : progress.run)
    },
  })
  return new Response(stream, { headers: { ...headers, 'x-session-id': sessionId } })
}

interface Progress {
  run: string | undefined
  over: boolean
}

async function* frames(response: ChatResponse, progress: Progress): AsyncGenerator<Iterable<string>, void, undefined> {
  const { events, failed } = response
  try {
    for await (const chunks of turnChunks(response, progress)) yield framesOf(chunks)
    // A page would take an answer that was cut for a complete one.
    if (!progress.over)
      yield framesOf([{ type: 'error', errorText: 'The server ended the stream. Load the chat again.' }])
  } catch (thrown) {
    failed(thrown)
    yield framesOf([{ type: 'error', errorText: responseStatus(thrown).error.message }])
  } finally {
    await events.return(undefined)
  }
  yield ['data: [DONE]\n\n']
}

function* framesOf(chunks: readonly UiChunk[]): Generator<string, void, undefined> {
  for (const chunk of chunks) yield `data: ${JSON.stringify(chunk)}\n\n`
}

/** Yields the chunks of the turn, until it has ended or waits. */
async function* turnChunks(
  { sessionId, events, turns, isAsked }: TurnStream,
  progress: Progress,
): AsyncGenerator<readonly UiChunk[], void, undefined> {
  let stream: UiStream | undefined
  for (;;) {
    const next = await events.next()
    if (next.done) {
      progress.over = next.value !== undefined
      if (progress.over && stream) yield stream.finish()
      return
    }
    const chunks: UiChunk[] = []
    for (const { event } of next.value) {
      const turn = turns.take(event)
      if (!turn || !isAsked(turn)) {
        if (!stream) continue
        progress.over = true
        yield [...chunks, ...stream.finish()]
        return
      }
      progress.run = turn.runId
      stream ??= createUiStream({ sessionId, runId: turn.runId, messageId: turn.id })
      chunks.push(...stream.take(event))
      if (event.type !== 'agent.end' || event.parents.length > 0) continue
      progress.over = true
      yield chunks
      return
    }
    if (chunks.length > 0) yield chunks
  }
}
