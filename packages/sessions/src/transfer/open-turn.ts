import type { Entry, EntryOf, Json, NewEntry, ToolOutput } from '@provost/core'
import { isRecord, opensCalls, ProvostError, toJson, untrustedLabel } from '@provost/core'

import { shown } from '../kit/store-error.ts'

/** What a fork does with the turn that had not ended at its entry. */
export type UnfinishedTurn = 'leave-out' | 'end' | 'continue'

/** Results by the ids of their calls: a text, or another JSON value. */
export type GivenResults = Readonly<Record<string, Json>>

/** The entries of a log up to a cut, and those that close what is open there. */
export interface CutTurn {
  readonly kept: readonly Entry[]
  readonly closing: readonly NewEntry[]
}

/** A call of the step at the cut. */
interface StepCall {
  readonly toolName: string
  started: boolean
  settled: EntryOf<'call', 'settled'> | undefined
}

/** The run and the step that are open at the cut. */
interface OpenTurn {
  run: Entry | undefined
  /** Calls of the last message of the model, by id; empty once an answer to their results has come. */
  step: Map<string, StepCall>
  /** Calls within those of the step, by id. */
  nested: Map<string, string>
}

/**
 * Cuts a log after an entry. Calls of the open step keep a result that they have, or get later in the log. Others stay
 * open in a run that continues, without their decisions, or get a result that states why they have none.
 *
 * @throws ProvostError `call-not-in-step`
 */
export function cutTurn(
  entries: readonly Entry[],
  offset: number,
  unfinished: UnfinishedTurn,
  results: GivenResults,
): CutTurn {
  const head = entries.slice(0, offset)
  const turn = openTurn(head)
  const last = head.at(-1)
  const { run } = turn
  for (const callId of Object.keys(results)) if (!run || !turn.step.has(callId)) throw unknownCall(callId)
  if (!run || !last) return { kept: head, closing: [] }
  if (unfinished === 'leave-out') return { kept: head, closing: [endOf(run, last)] }
  const later = new Map(
    entries
      .slice(offset)
      .flatMap((entry) => (isSettled(entry) && !given(results, entry) ? [[entry.callId, entry]] : [])),
  )
  const open = [...turn.step].filter(([, { settled }]) => !settled).map(([callId]) => callId)
  const undone = new Set(open.filter((callId) => !turn.step.get(callId)?.started))
  const within = new Set([...turn.nested].filter(([, top]) => open.includes(top)).map(([callId]) => callId))
  const kept = head.filter((entry) => {
    if (isSettled(entry) && given(results, entry)) return false
    const callId = entry.type === 'call' || entry.type === 'memo' ? entry.callId : undefined
    if (callId === undefined) return true
    if (within.has(callId) || (entry.type === 'memo' && open.includes(callId))) return false
    return !undone.has(callId)
  })
  const closing: NewEntry[] = []
  for (const [callId, call] of turn.step) {
    if (Object.hasOwn(results, callId)) closing.push(settle(run, last, callId, call, givenResult(results[callId])))
    else if (call.settled) continue
    else if (call.started) closing.push(withoutOffset(later.get(callId)) ?? settle(run, last, callId, call, lostResult))
    else if (unfinished === 'end') closing.push(settle(run, last, callId, call, notMade))
  }
  if (unfinished === 'end') closing.push(endOf(run, last))
  return { kept, closing }
}

/** Returns the tokens of the waits that were approved. */
export function approvedTokens(entries: readonly Entry[]): ReadonlySet<string> {
  const approves = (entry: Entry): entry is EntryOf<'resolved'> =>
    entry.type === 'resolved' && isRecord(entry.value) && entry.value['decision'] === 'approve'
  return new Set(entries.filter(approves).map(({ token }) => token))
}

function openTurn(entries: readonly Entry[]): OpenTurn {
  const turn: OpenTurn = { run: undefined, step: new Map(), nested: new Map() }
  const approved = approvedTokens(entries)
  const begin = (run?: Entry): void => {
    if (run) turn.run = run
    turn.step = new Map()
    turn.nested = new Map()
  }
  for (const entry of entries) {
    if (entry.type === 'run' && entry.op === 'started') begin(entry)
    else if (entry.type === 'run' && entry.op === 'ended') {
      begin()
      turn.run = undefined
    } else if (entry.type === 'message' && opensCalls(entry)) {
      begin()
      // The copy has no answer that was held back and not approved yet.
      if (entry.held !== undefined && !approved.has(entry.held)) continue
      for (const part of entry.message.content) {
        if (part.type !== 'tool-call' || part.providerExecuted) continue
        turn.step.set(part.callId, { toolName: part.toolName, started: false, settled: undefined })
      }
    } else if (entry.type === 'call') addCall(turn, entry)
  }
  return turn
}

function addCall({ step, nested }: OpenTurn, entry: Extract<Entry, { type: 'call' }>): void {
  if (entry.op === 'planned') {
    nested.set(entry.callId, nested.get(entry.parentCallId) ?? entry.parentCallId)
    return
  }
  const call = step.get(entry.callId)
  if (entry.op === 'started' && call) call.started = true
  if (isSettled(entry) && call) call.settled = entry
}

function isSettled(entry: Entry): entry is EntryOf<'call', 'settled'> {
  return entry.type === 'call' && entry.op === 'settled'
}

function given(results: GivenResults, { callId }: EntryOf<'call', 'settled'>): boolean {
  return Object.hasOwn(results, callId)
}

type Place = Pick<NewEntry, 'at' | 'runId' | 'step' | 'agent' | 'v'>

function placeIn({ runId }: Entry, { at, step, agent, v }: Entry): Place {
  return { at, runId, step, agent, v }
}

function withoutOffset(entry: EntryOf<'call', 'settled'> | undefined): NewEntry | undefined {
  if (!entry) return undefined
  const { offset: _, ...rest } = entry
  return rest
}

/** Returns the end of a run that is active in the original. */
function endOf(run: Entry, last: Entry): NewEntry {
  const { runId, agent } = run
  return {
    ...placeIn(run, last),
    ...{ agent, id: `${runId}/forked/ended` },
    ...{ type: 'run', op: 'ended', status: 'completed' },
  }
}

type Settled = Pick<EntryOf<'call', 'settled'>, 'outcome' | 'via' | 'output' | 'unknown'>

function settle(run: Entry, last: Entry, callId: string, { toolName }: StepCall, settled: Settled): NewEntry {
  return {
    ...placeIn(run, last),
    ...{ id: `${callId}/forked/settled`, type: 'call', op: 'settled', callId },
    ...{ label: untrustedLabel(toolName), durationMs: 0, ...settled },
  }
}

function givenResult(value: unknown): Settled {
  const output = outputOf(value)
  return { outcome: output.type === 'error-text' ? 'error' : 'ok', via: 'human', output }
}

const lostResult: Settled = {
  outcome: 'error',
  via: 'log',
  output: { type: 'error-text', value: 'The call had started when the session was forked. Its result is unknown.' },
  unknown: true,
}

const notMade: Settled = {
  outcome: 'skipped',
  via: 'log',
  output: { type: 'error-text', value: 'The call was not made: the session was forked before it.' },
}

function outputOf(value: unknown): ToolOutput {
  if (typeof value === 'string') return { type: 'text', value }
  if (isRecord(value) && value['type'] === 'error-text' && typeof value['value'] === 'string') {
    return { type: 'error-text', value: value['value'] }
  }
  return { type: 'json', value: toJson(value) }
}

function unknownCall(callId: string): ProvostError {
  return new ProvostError('call-not-in-step', `The step at the entry has no call ${shown(callId)}.`, {
    hint: 'Fork at an entry between the request for the call and the next answer of the model.',
  })
}
