import type { Authorization, SessionState } from '@provost/agent'
import type { Driver } from '@provost/agent/internal'
import { canAdvance } from '@provost/agent/internal'
import type { Entry } from '@provost/core'

import { ReplayStopped, compareNext, differs, nextExpected } from './compare.ts'
import { answerAt, arrivals, decisionsAt, isArrival, isByClock, takeGivenUp, verdictOf } from './recorded-answer.ts'
import type { RecordedLog } from './recorded-log.ts'
import { isNested } from './recorded-log.ts'

/** Returns the driver of a replay: it answers from the recorded log, and compares what the loop appends. */
export function recordedDriver(recorded: RecordedLog): Driver {
  const { state } = recorded
  return {
    takeInputs() {
      const entry = nextExpected(recorded)
      if (recorded.isClosing()) throw new ReplayStopped('closed')
      if (entry.type === 'run' && entry.op === 'suspended' && entry.yielded) throw new ReplayStopped('yielded')
      return isArrival(state, entry) ? arrivals(recorded) : []
    },

    callModel() {
      recorded.skipFailed()
      const entry = nextExpected(recorded)
      if (recorded.isClosing()) throw new ReplayStopped('closed')
      const answered = answerAt(recorded, entry)
      if (!answered) throw differs(entry, 'a call of the model')
      return answered
    },

    authorize(calls) {
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

    reconcile: () => recorded.skipLookups(),

    execute(calls) {
      const open = new Set(calls.map(({ part }) => part.callId))
      for (const call of calls) {
        const { callId } = call.part
        while (canAdvance(call)) {
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
    },

    awaitDecisions() {
      const givenUp = takeGivenUp(recorded)
      const entry = nextExpected(recorded)
      if (givenUp && !isByClock(entry)) return {}
      if (entry.type === 'run' && entry.op === 'suspended') return 'suspend'
      if (recorded.isClosing()) throw new ReplayStopped('closed')
      const decisions = decisionsAt(recorded)
      if (!decisions) throw differs(entry, 'a wait')
      return decisions
    },

    append(entries) {
      for (const got of entries) compareNext(recorded, got)
    },

    emit() {},
  }
}

/** Returns the id of the call that an entry belongs to. */
function calledBy({ waits }: SessionState, entry: Entry): string | undefined {
  if (entry.type === 'call' || entry.type === 'wait') return entry.callId
  return entry.type === 'resolved' ? waits.get(entry.token)?.callId : undefined
}
