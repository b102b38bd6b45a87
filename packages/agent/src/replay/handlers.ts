import type { Entry } from '@provost/core'

import type { LogState } from '../log-state.ts'
import { offsetOf } from '../log-state.ts'
import type { LoopHandlers, Verdict } from '../loop-asks.ts'
import { compareNext, differs, due, Leaving } from './compare.ts'
import { answerAt, arrivals, decisionsAt, isArrival, isByClock, takeGivenUp, verdictOf } from './recorded-answer.ts'
import type { Tape } from './tape.ts'
import { isInside } from './tape.ts'

/** Answers the loop from the tape. */
export function handlersOf(tape: Tape): LoopHandlers {
  const { state } = tape
  return {
    input() {
      const entry = due(tape)
      if (tape.isClosing()) throw new Leaving('closed')
      return isArrival(state, entry) ? arrivals(tape) : []
    },

    model() {
      tape.takeFailed()
      const entry = due(tape)
      if (tape.isClosing()) throw new Leaving('closed')
      const answered = answerAt(tape, entry)
      if (!answered) throw differs(entry, 'a call of the model')
      return answered
    },

    decide({ calls }) {
      due(tape)
      return calls.map((call): Verdict => {
        const decisions = state.run?.calls.get(call.callId)?.decisions ?? 0
        const decided = tape.find(`${call.callId}/decided/${decisions + 1}`)
        if (decided?.past === false && decided.entry.type === 'call' && decided.entry.op === 'decided') {
          return verdictOf(tape, call, decided.entry, decisions)
        }
        if (tape.isClosing()) throw new Leaving('closed')
        // The log does not tell: whatever it is, the entry that comes of it is not there.
        return { deny: 'Nobody judged this call.' }
      })
    },

    execute({ calls }) {
      const open = new Set(calls.map(({ callId }) => callId))
      const isOpen = (callId: string): boolean => {
        const stage = state.run?.calls.get(callId)?.stage
        return stage !== undefined && stage !== 'settled' && stage !== 'waiting' && stage !== 'parked'
      }
      for (const { callId } of calls) {
        while (isOpen(callId)) {
          const entry = due(tape)
          const about = calledBy(state, entry)
          if (!isInside(state, entry) && (about === undefined || !open.has(about))) {
            throw tape.isClosing() ? new Leaving('closed') : differs(entry, `the result of ${callId}`)
          }
          tape.take()
        }
      }
      // Composites that were parked before may have gone on as well.
      tape.takeInside()
      return []
    },

    wait() {
      const givenUp = takeGivenUp(tape)
      const entry = due(tape)
      if (givenUp && !isByClock(entry)) return {}
      if (entry.type === 'run' && entry.op === 'suspended') return 'suspend'
      if (tape.isClosing()) throw new Leaving('closed')
      const decisions = decisionsAt(tape)
      if (!decisions) throw differs(entry, 'a wait')
      return decisions
    },

    append({ entries }) {
      for (const got of entries) compareNext(tape, got)
      return { offset: offsetOf(state) }
    },
  }
}

/** The call that an entry is about. */
function calledBy({ waits }: LogState, entry: Entry): string | undefined {
  if (entry.type === 'call' || entry.type === 'wait') return entry.callId
  return entry.type === 'resolved' ? waits.get(entry.token)?.callId : undefined
}
