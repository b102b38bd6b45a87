import type { Entry, EntryOf } from '@provost/core'
import { assertNever } from '@provost/core'

import { noBytes } from '../state/byte-count.ts'
import { addAttempt, addReport, usageReport } from '../state/usage.ts'
import type { RunProgress, SessionState } from '../types/session-state.ts'
import { settleWait } from './wait-reducer.ts'

/** Applies the start, pause, resumption or end of a run. */
export function applyRun(state: SessionState, entry: Extract<Entry, { type: 'run' }>): void {
  const { run } = state
  switch (entry.op) {
    case 'started':
      // Another agent has taken the session: its handoff path starts again.
      if (run && run.manifest.agent !== entry.manifest.agent) state.handoffPath.length = 0
      state.agent = entry.agent
      if (run) addReport(state.earlier, usageReport(run))
      state.run = {
        id: entry.runId,
        manifest: entry.manifest,
        ...(entry.principal && { principal: entry.principal }),
        startedAt: entry.at,
        status: 'running',
        yielded: false,
        step: 0,
        attempts: 0,
        calls: new Map(),
        openCalls: 0,
        nestedCalls: new Map(),
        deferred: undefined,
        agents: [entry.agent],
        handoffCount: 0,
        returnHandoffs: 0,
        children: new Map(),
        isChild: entry.parent !== undefined,
        toolCallCount: 0,
        answerCount: 0,
        activeMs: 0,
        activeSince: entry.at,
        usedTools: undefined,
        answer: undefined,
        unapprovedAnswer: undefined,
        lastAttempt: undefined,
        outputRepairs: 0,
        ephemeralMessages: [],
        firstMessage: state.messages.length,
        bytes: noBytes,
        usage: {},
        byModel: new Map(),
        output: undefined,
        error: undefined,
      }
      break
    case 'suspended':
      if (run) {
        run.status = 'suspended'
        run.yielded = entry.yielded === true
        run.activeMs += Math.max(0, entry.at - run.activeSince)
      }
      break
    case 'resumed':
      if (run) {
        run.status = 'running'
        run.yielded = false
        if (entry.manifest) run.manifest = entry.manifest
        run.activeSince = entry.at
        run.error = undefined
      }
      break
    case 'ended':
      if (run) {
        run.status = entry.status
        // An ended run closes its waits.
        for (const [token, wait] of state.waits) settleWait(state, token, wait)
        state.waits.clear()
        if (entry.output !== undefined) run.output = entry.output
        if (entry.error) run.error = entry.error
      }
      break
    default:
      assertNever(entry)
  }
}

/** Applies an entry of a model call: after the first one of a later step, the answer before it is not the last one. */
export function applyStepBegin(run: RunProgress, { step }: EntryOf<'tail' | 'attempt'>): void {
  if (step > run.step) run.answer = undefined
}

/** Applies a model attempt: its usage counts even if it failed. */
export function applyAttempt(run: RunProgress, entry: EntryOf<'attempt'>): void {
  addAttempt(run, entry)
  if (entry.purpose === 'generated') return
  if (entry.outcome === 'answered') run.answerCount++
  applyStepBegin(run, entry)
  run.step = entry.step
  run.lastAttempt = entry
  // Counts until the answer is accepted: a denied answer is followed by another attempt, not by the same one.
  run.attempts = entry.attempt
}
