import type { Entry, EntryOf } from '@provost/core'

import { addBytes } from '../state/byte-count.ts'
import { callOf, outermost } from '../state/session-state.ts'
import { addReport } from '../state/usage.ts'
import type { ChildState, RunProgress, SessionState } from '../types/session-state.ts'
import { recordCompositeAnswer, resumeComposite } from './composite-reducer.ts'

/** Applies the start, pause or end of a child. */
export function applyChild(state: SessionState, run: RunProgress, entry: Extract<Entry, { type: 'child' }>): void {
  const { callId, log } = entry
  if (entry.op === 'spawned') {
    const { parentCallId, agent, inputHash = '', grant, label, filter, with: given, where } = entry
    if (parentCallId === undefined || run.children.has(callId)) return
    const shared = { callId, parentCallId, log, agent: agent, inputHash, label }
    const crossed = { ...(filter && { filter }), ...(given && { with: given }) }
    run.children.set(callId, {
      ...shared,
      ...crossed,
      ...(grant && { grant }),
      ...(where && { where }),
      letters: 0,
      isCreated: false,
      hasNews: false,
      status: 'running',
      waitAnswers: new Map(),
    })
    return
  }
  const child = run.children.get(callId)
  if (child) child.status = entry.status
  if (entry.status === 'suspended') {
    if (child) [child.usage, child.bytes] = [entry.usage, entry.bytes]
    return
  }
  addReport(run, entry.usage)
  run.bytes = addBytes(run.bytes, entry.bytes)
  run.toolCallCount += entry.toolCalls
  run.answerCount += entry.steps
  if (!child) return
  child.completion = entry
  delete child.usage
  delete child.bytes
  closeChildWaits(state, (id) => id === callId)
  // Counts towards the handoff limit, so that mutual delegation terminates.
  if (callOf(run, child.parentCallId)?.returnHandoff) run.returnHandoffs += entry.handoffs ?? 0
  recordCompositeAnswer(run, child.parentCallId, callId, entry.label)
}

/** Closes the waits of a composite's children when the composite has ended. */
export function abandonChildren(state: SessionState, run: RunProgress, parentCallId: string): void {
  const left = new Set<string>()
  for (const child of run.children.values()) {
    if (child.parentCallId !== parentCallId) continue
    left.add(child.callId)
    if (child.usage) addReport(run, child.usage)
    run.bytes = addBytes(run.bytes, child.bytes)
    delete child.usage
    delete child.bytes
  }
  if (left.size > 0) closeChildWaits(state, (id) => left.has(id))
}

/** Records an answer to a wait of a child; the composite that spawned the child passes it on. */
export function answerChild(run: RunProgress, callId: string, entry: EntryOf<'resolved'>): void {
  const child = run.children.get(callId)
  const composite = child && callOf(run, child.parentCallId)
  if (!child || !composite) return
  child.waitAnswers.set(entry.token, entry)
  resumeComposite(run, composite)
}

/** Records a letter of a child elsewhere: the composite that spawned it reads its log. */
export function applyLetter(run: RunProgress, child: ChildState): void {
  child.letters++
  const composite = callOf(run, child.parentCallId)
  if (!composite) return
  child.hasNews = outermost(run, composite).stage !== 'parked'
  resumeComposite(run, composite)
}

function closeChildWaits(state: SessionState, of: (callId: string) => boolean): void {
  for (const [token, { child }] of state.waits) {
    if (!child || !of(child.callId)) continue
    state.waits.delete(token)
    state.resolvedWaits.add(token)
  }
}
