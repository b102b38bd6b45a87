import type { AgentEvent } from '@provost/core'

import type { SessionEvents } from '../sessions/session-reader.ts'
import type { SessionTurn, SessionTurns } from './session-turn.ts'
import { unfinishedAnswer } from './unfinished-answer.ts'

/** Converts the events of one turn to the frames of one protocol. The same events give the same frames. */
export interface TurnMapper<Frame> {
  /** Takes the next event of the turn, those of children included. */
  take(event: AgentEvent): readonly Frame[]
  /** Returns the last frames, for a turn whose end the mapper has not received. */
  finish(): readonly Frame[]
}

/** The turn that a response has, and where its events come from. */
export interface TurnEvents {
  readonly events: SessionEvents
  readonly turns: SessionTurns
  /** Whether the response has this turn. */
  isAsked(turn: SessionTurn): boolean
}

/** How far a response is. */
export interface TurnProgress {
  /** The run of the turn, as soon as it is known. */
  run: string | undefined
  /** The turn has ended or waits. */
  over: boolean
}

/**
 * Yields the frames of a turn, until it has ended or waits.
 *
 * @param mapperOf makes the mapper when the turn begins.
 */
export async function* turnFrames<Frame>(
  { events, turns, isAsked }: TurnEvents,
  mapperOf: (turn: SessionTurn) => TurnMapper<Frame>,
  progress: TurnProgress,
): AsyncGenerator<readonly Frame[], void, undefined> {
  let mapper: TurnMapper<Frame> | undefined
  const answer = unfinishedAnswer()
  for (;;) {
    const next = await events.next()
    if (next.done) {
      progress.over = next.value !== undefined
      if (progress.over && mapper) yield mapper.finish()
      return
    }
    const frames: Frame[] = []
    for (const { event } of next.value) {
      const turn = turns.take(event)
      if (!turn || !isAsked(turn)) {
        if (!mapper) continue
        progress.over = true
        yield [...frames, ...mapper.finish()]
        return
      }
      progress.run = turn.runId
      mapper ??= mapperOf(turn)
      const cutOff = answer.take(event)
      if (cutOff) frames.push(...mapper.take(cutOff))
      frames.push(...mapper.take(event))
      if (event.type !== 'agent.end' || event.parents.length > 0) continue
      progress.over = true
      yield frames
      return
    }
    if (frames.length > 0) yield frames
  }
}
