import type { CallState } from '@provost/agent'
import { newEntry, placeOf, resolvedEntries, settledEntry, startedEntry, unstartedEntry } from '@provost/agent/internal'
import type { Json, Label, ModelMessage, Part, ToolResult } from '@provost/core'
import { assertNever, positionId, trustedLabel, untrustedLabel, uuidv7 } from '@provost/core'

import type { KnownTools } from '../definition/guarded-tools.ts'
import { resultIn } from '../definition/outside-result.ts'
import type { GuardLog } from '../log/guard-log.ts'
import type { FreshMessage } from './compare-history.ts'
import { messageFor, outputIn, textIn } from './outside-message.ts'

/** What recording a history needs. */
export interface Recorder {
  readonly log: GuardLog
  readonly agent: string
  readonly tools: KnownTools
  /** The program keeps its histories, so stored answers and results count as seen. */
  readonly trustsStored: boolean
  /** Called before the end of a run is recorded. */
  readonly endRun: () => Promise<void>
}

/** The name of the guard's own entries. */
export const guardName = 'provost-guard'

/** Records messages of another loop in the log, with labels as a run of Provost gives them. */
export async function recordHistory(recorder: Recorder, fresh: readonly FreshMessage[]): Promise<void> {
  for (const one of fresh) {
    const { message } = one
    switch (message.role) {
      case 'user':
        if (one.source === 'inserted') await recordText(recorder, message, 'history')
        else await recordHuman(recorder, one)
        break
      case 'system':
        // The instructions of a loop are no message. What stands among the messages may come from anywhere.
        await recordText(recorder, message, 'system-message')
        break
      case 'assistant':
        await begin(recorder)
        recordAnswer(recorder, one)
        break
      case 'tool':
        await begin(recorder)
        await recordResults(recorder, one)
        break
      default:
        assertNever(message)
    }
  }
}

/** Records a message of the human: it begins a run, or steers the one that is under way. */
async function recordHuman(recorder: Recorder, { message, source }: FreshMessage): Promise<void> {
  const { log, agent } = recorder
  const steers = source === 'live' && log.state.run?.status === 'running' && log.state.run.answer === undefined
  // Messages of the human in a row are one turn.
  const last = log.state.messages.at(-1)
  const joins = log.state.run?.status === 'running' && last?.role === 'user' && last.label?.integrity === 'trusted'
  if (!steers && !joins) await startRun(recorder)
  const { runId, step } = placeOf(log.state)
  const id = positionId(runId, step, 'message', log.nextOffset())
  const said = messageFor(log, id, 'user', [{ type: 'text', text: textIn(message) }], trustedLabel, agent)
  log.addHere('message', { type: 'message', message: said, via: steers && !joins ? 'steer' : 'input' })
}

async function begin(recorder: Recorder): Promise<void> {
  if (recorder.log.state.run?.status !== 'running') await startRun(recorder)
}

/** Begins a run, and ends the one before it. */
async function startRun(recorder: Recorder): Promise<void> {
  await finishRun(recorder)
  const { log, agent, tools } = recorder
  const runId = uuidv7()
  const manifest = { agent, extensions: ['data-flow-policy', 'audit-log'], tools: tools.infos.map(({ name }) => name) }
  const place = { ...placeOf(log.state), runId, step: 0, agent }
  log.add([newEntry(place, `${runId}/started`, { type: 'run', op: 'started', manifest })])
}

/** Ends the run that is under way. */
export async function finishRun({ log, endRun }: Pick<Recorder, 'log' | 'endRun'>): Promise<void> {
  const { run } = log.state
  if (run?.status !== 'running') return
  closeCalls(log)
  await endRun()
  log.add([
    newEntry(placeOf(log.state), `${run.id}/ended`, { type: 'run', op: 'ended', status: 'completed', output: null }),
  ])
}

/** Settles calls whose result never came. One that may have run counts as run. */
export function closeCalls({ state, add }: GuardLog, except: ReadonlySet<CallState> = new Set()): void {
  for (const call of [...(state.run?.calls.values() ?? [])]) {
    if (call.stage === 'settled' || except.has(call)) continue
    const hasStarted = call.stage === 'started'
    const [outcome, reason] = hasStarted
      ? (['aborted', 'The loop shows no result of the call.'] as const)
      : (['skipped', 'The call was not made.'] as const)
    const entry = unstartedEntry(state, call, outcome, reason)
    add([hasStarted && entry.type === 'call' && entry.op === 'settled' ? { ...entry, unknown: true } : entry])
  }
}

/** Records what the model wrote beside its calls, which the guard has recorded as it judged them. */
function recordAnswer(recorder: Recorder, { message, source }: FreshMessage): void {
  const { log, agent } = recorder
  const { state } = log
  const isSeen = source === 'live' || (source === 'stored' && recorder.trustsStored)
  const made = new Set<CallState>()
  const content: Part[] = []
  const text = textIn(message)
  if (text !== '') content.push({ type: 'text', text })
  if (message.role === 'assistant' && typeof message.content !== 'string')
    for (const part of message.content) {
      if (part.type === 'tool-call') {
        const call = openCall(log, part.toolCallId, part.toolName, made)
        if (call) made.add(call)
      }
      if (part.type === 'tool-result') content.push(outsideResult(log, part))
    }
  closeCalls(log, made)
  if (content.length === 0) return
  const { runId, step } = placeOf(state)
  const id = positionId(runId, step, 'message', log.nextOffset())
  const label = isSeen ? state.viewLabel : untrustedLabel('history')
  const said = messageFor(log, id, 'assistant', content, label, agent)
  log.addHere('message', { type: 'message', message: said, via: isSeen ? 'model' : 'system' })
}

/** Records the results of a step. A result of a call that the guard did not allow is untrusted, whatever the tool declares. */
async function recordResults(recorder: Recorder, { message, source }: FreshMessage): Promise<void> {
  const { log, agent, tools } = recorder
  if (message.role !== 'tool') return
  const isSeen = source === 'live' || (source === 'stored' && recorder.trustsStored)
  const outside: Part[] = []
  const done = new Set<CallState>()
  for (const part of message.content) {
    if (part.type !== 'tool-result') continue
    const call = openCall(log, part.toolCallId, part.toolName, done)
    const output = outputIn(part.output)
    if (call?.stage === 'waiting' && output.type === 'execution-denied') {
      done.add(call)
      refuse(log, call, output.reason)
    } else if (call?.stage === 'started' && source !== 'inserted') {
      done.add(call)
      const tool = tools.toolOf(part.toolName)
      const given = await resultIn(tool, output, call.args, isSeen)
      const result: ToolResult = { callId: call.part.callId, tool, input: call.args, via: 'executed', ...given }
      // A stored error may be forged: the call still counts.
      log.add([settledEntry(log.state, call, result, isSeen || result.outcome === 'ok' ? {} : { unknown: true })])
    } else if (!isOwnRefusal(output)) outside.push(outsideResult(log, part))
  }
  if (outside.length === 0) return
  const { runId, step } = placeOf(log.state)
  const id = positionId(runId, step, 'message', log.nextOffset())
  const said = messageFor(log, id, 'tool', outside, untrustedLabel('history'), agent)
  log.addHere('message', { type: 'message', message: said, via: 'system' })
}

/** A denial has no content of a tool: the guard has recorded its own, and forged ones tell nothing. */
function isOwnRefusal(output: ReturnType<typeof outputIn>): boolean {
  return output.type === 'execution-denied' && output.reason === undefined
}

/** Records that the human refused a call. */
function refuse(log: GuardLog, call: CallState, reason: string | undefined): void {
  const token = tokenOf(log, call)
  if (token === undefined) return
  const refusal = { id: token, decision: 'deny', by: 'approver', ...(reason !== undefined && { reason }) } as const
  log.add(resolvedEntries(log.state, { approvals: [refusal] }).entries)
  log.add([unstartedEntry(log.state, call, 'denied', reason ?? 'The call was not approved.')])
}

/** Returns the token of the question about a call. */
export function tokenOf({ state }: GuardLog, { part }: CallState): string | undefined {
  for (const wait of state.waits.values())
    if (wait.kind === 'approval' && wait.callId === part.callId) return wait.token
  return undefined
}

/** Records that a call starts in the other loop. */
export function startCall(log: GuardLog, call: CallState): void {
  log.add([startedEntry(log.state, call, 0)])
}

/** Returns the first open call with this id of the other loop. Ids may repeat within a step. */
export function openCall(
  { state }: GuardLog,
  id: string,
  toolName: string,
  taken: ReadonlySet<CallState> = new Set(),
): CallState | undefined {
  for (const call of state.run?.calls.values() ?? [])
    if (call.part.toolCallId === id && call.part.toolName === toolName && call.stage !== 'settled' && !taken.has(call))
      return call
  return undefined
}

function outsideResult(log: GuardLog, part: { toolCallId: string; toolName: string; output: unknown }): Part {
  const { toolCallId, toolName } = part
  const { runId } = placeOf(log.state)
  const label: Label = untrustedLabel(toolName)
  const callId = positionId(runId, log.nextOffset(), 'outside', toolCallId)
  return { type: 'tool-result', callId, toolCallId, toolName, output: outputIn(part.output), label }
}

/** Records text that nothing vouches for. */
async function recordText(recorder: Recorder, message: ModelMessage, source: string): Promise<void> {
  const text = textIn(message)
  if (text === '') return
  await begin(recorder)
  const { log, agent } = recorder
  const { runId, step } = placeOf(log.state)
  const id = positionId(runId, step, 'message', log.nextOffset())
  const said = messageFor(log, id, 'user', [{ type: 'text', text }], untrustedLabel(source), agent)
  log.addHere('message', { type: 'message', message: said, via: 'system' })
}

/** Records that a history was changed: what was seen stays in the log, and what is new in it is untrusted. */
export function recordChange({ log }: Recorder, lost: number, inserted: number): void {
  const evidence: Json = { decision: 'ask', reason: 'the history was changed', lost, inserted }
  log.addHere(`audit/${guardName}`, {
    type: 'audit',
    decision: 'flagged',
    by: guardName,
    rule: 'history-changed',
    sources: ['history'],
    evidence,
  })
}
