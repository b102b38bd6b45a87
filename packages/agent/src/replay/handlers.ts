import type { Entry } from '@provost/core'

import { offsetOf } from '../state/session-state.ts'
import type { Authorization, LoopHandlers } from '../types/loop.ts'
import type { SessionState } from '../types/session-state.ts'
import { ReplayStopped, compareNext, differs, nextExpected } from './compare.ts'
import { answerAt, arrivals, decisionsAt, isArrival, isByClock, takeGivenUp, verdictOf } from './recorded-answer.ts'
import type { RecordedLog } from './recorded-log.ts'
import { isNested } from './recorded-log.ts'

/** Returns handlers that answer the loop from the recorded log. */
export function handlersOf(recorded: RecordedLog): LoopHandlers {
  const { state } = recorded
  return {
    input() {
      const entry = nextExpected(recorded)
      if (recorded.isClosing()) throw new ReplayStopped('closed')
      return isArrival(state, entry) ? arrivals(recorded) : []
    },

    model() {
      recorded.skipFailed()
      const entry = nextExpected(recorded)
      if (recorded.isClosing()) throw new ReplayStopped('closed')
      const answered = answerAt(recorded, entry)
      if (!answered) throw differs(entry, 'a call of the model')
      return answered
    },

    decide({ calls }) {
      nextExpected(recorded)
      return calls.map((call): Authorization => {
        const decisions = state.run?.calls.get(call.callId)?.decisions ?? 0
        const decided = recorded.find(`${call.callId}/decided/${decisions + 1}`)
        if (decided?.past === false && decided.entry.type === 'call' && decided.entry.op === 'decided') {
          return verdictOf(recorded, call, decided.entry, decisions)
        }
        if (recorded.isClosing()) throw new ReplayStopped('closed')
        // The log has no decision. Any answer leads to an entry that the log lacks.
        return { deny: 'The driver gave no decision on this call.' }
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
          const entry = nextExpected(recorded)
          const about = calledBy(state, entry)
          if (!isNested(state, entry) && (about === undefined || !open.has(about))) {
            throw recorded.isClosing() ? new ReplayStopped('closed') : differs(entry, `the result of ${callId}`)
          }
          recorded.take()
        }
      }
      // Composites that were parked may have resumed as well.
      recorded.skipNested()
      return []
    },

    wait() {
      const givenUp = takeGivenUp(recorded)
      const entry = nextExpected(recorded)
      if (givenUp && !isByClock(entry)) return {}
      if (entry.type === 'run' && entry.op === 'suspended') return 'suspend'
      if (recorded.isClosing()) throw new ReplayStopped('closed')
      const decisions = decisionsAt(recorded)
      if (!decisions) throw differs(entry, 'a wait')
      return decisions
    },

    append({ entries }) {
      for (const got of entries) compareNext(recorded, got)
      return { offset: offsetOf(state) }
    },
  }
}

/** Returns the id of the call that an entry belongs to. */
function calledBy({ waits }: SessionState, entry: Entry): string | undefined {
  if (entry.type === 'call' || entry.type === 'wait') return entry.callId
  return entry.type === 'resolved' ? waits.get(entry.token)?.callId : undefined
}
