import type { Entry, EntryOf, FilterDescriptor, Grant, Label, Message, RunStatus, UsageReport } from '@provost/core'
import { addUsage } from '@provost/core'

import { answerBridge, wakeComposite } from './bridge-fold.ts'
import type { RunBytes } from './byte-count.ts'
import { addBytes } from './byte-count.ts'
import type { Letter } from './letter.ts'
import { childToward, letterIn } from './letter.ts'
import type { LogState, RunFold } from './log-state.ts'
import { callOf } from './log-state.ts'
import { addShares } from './usage-report.ts'

/** A child as the log of its parent tells of it. */
export interface ChildFold {
  /** Of its run. */
  readonly callId: string
  readonly parentCallId: string
  readonly log: string
  readonly agent: string
  readonly inputHash: string
  readonly grant?: Grant
  /** Of what it was given. */
  readonly label: Label
  /** What of the history it was let have, and what a hook put in place of all that it was given. */
  readonly filter?: FilterDescriptor
  readonly with?: readonly Message[]
  status: 'running' | RunStatus
  /** What it has used and was not counted with the run's yet. */
  usage?: UsageReport
  bytes?: RunBytes | undefined
  /** What was said to its waits in the runs above, by token. */
  readonly given: Map<string, EntryOf<'resolved'>>
  /** What was said to it, or to a run below it, by token. */
  letters?: Map<string, Letter>
  joined?: EntryOf<'child', 'joined'>
}

/** A child begins, pauses or has ended. */
export function applyChild(state: LogState, run: RunFold, entry: Extract<Entry, { type: 'child' }>): void {
  const { callId, log } = entry
  if (entry.op === 'spawned') {
    const { parentCallId, agent, inputHash = '', grant, label, filter, with: given } = entry
    if (parentCallId === undefined || run.children.has(callId)) return
    const shared = { callId, parentCallId, log, agent: agent, inputHash, label }
    const crossed = { ...(filter && { filter }), ...(given && { with: given }) }
    run.children.set(callId, { ...shared, ...crossed, ...(grant && { grant }), status: 'running', given: new Map() })
    return
  }
  const child = run.children.get(callId)
  if (child) child.status = entry.status
  if (entry.status === 'suspended') {
    if (child) [child.usage, child.bytes] = [entry.usage, entry.bytes]
    return
  }
  count(run, entry.usage)
  run.bytes = addBytes(run.bytes, entry.bytes)
  run.toolCalls += entry.toolCalls
  run.answers += entry.steps
  if (!child) return
  child.joined = entry
  delete child.usage
  delete child.bytes
  closeChildWaits(state, (id) => id === callId)
  // Agents that ask each other come to an end.
  if (callOf(run, child.parentCallId)?.errand) run.returns += entry.handoffs ?? 0
  answerBridge(run, child.parentCallId, callId, entry.label)
}

/** A composite has ended: nobody waits any more for what its children waited for. */
export function leaveChildren(state: LogState, run: RunFold, parentCallId: string): void {
  const left = new Set<string>()
  for (const child of run.children.values()) {
    if (child.parentCallId !== parentCallId) continue
    left.add(child.callId)
    if (child.usage) count(run, child.usage)
    run.bytes = addBytes(run.bytes, child.bytes)
    delete child.usage
    delete child.bytes
  }
  if (left.size > 0) closeChildWaits(state, (id) => left.has(id))
}

/** Somebody has answered what a child waits for: whoever spawned it passes it on. */
export function answerChild(run: RunFold, callId: string, entry: EntryOf<'resolved'>): void {
  const child = run.children.get(callId)
  const composite = child && callOf(run, child.parentCallId)
  if (!child || !composite) return
  child.given.set(entry.token, entry)
  wakeComposite(run, composite)
}

/** Something was said to a run below. */
export function applyLetter(run: RunFold, entry: EntryOf<'resolved'>): void {
  const letter = letterIn(entry)
  const child = letter && childToward(run, letter.to)
  if (child && !child.joined) (child.letters ??= new Map()).set(letter.token, letter)
}

function closeChildWaits(state: LogState, of: (callId: string) => boolean): void {
  for (const [token, { child }] of state.waits) {
    if (!child || !of(child.callId)) continue
    state.waits.delete(token)
    state.resolved.add(token)
  }
}

function count(run: RunFold, { byModel, ...usage }: UsageReport): void {
  run.usage = addUsage(run.usage, usage)
  addShares(run.byModel, byModel)
}
