import type { Authorization, FinalFailure, ModelAnswered, Repair, SessionState, StepOutcome } from '@provost/agent'
import { clock, readRemoteValue, readVerdict } from '@provost/agent/internal'
import type { ApprovalDecision, Decisions, Entry, EntryOf, Json, NewEntry, RemoteResult, ToolCall } from '@provost/core'
import { isRecord, purposeOf } from '@provost/core'

import { ReplayStopped } from './compare.ts'
import type { RecordedLog } from './recorded-log.ts'
import { isOutOfBand, isTaken, nextOf } from './recorded-log.ts'

/** Returns whether an entry records input from outside. */
export function isArrival(state: SessionState, entry: Entry): boolean {
  return isTaken(state, entry) || (entry.type === 'message' && (entry.via === 'steer' || entry.via === 'queue'))
}

/** Returns the recorded inputs that arrived together. */
export function arrivals(recorded: RecordedLog): readonly NewEntry[] {
  const entries: Entry[] = []
  let arrived = 0
  for (let entry = recorded.entry(); entry; entry = recorded.entry(entries.length)) {
    const arrives = isArrival(recorded.state, entry)
    if (!arrives && !isOutOfBand(entry)) break
    entries.push(entry)
    if (arrives) arrived = entries.length
  }
  return entries.slice(0, arrived)
}

/** Returns the recorded answer of the model; undefined if the model was not called. */
export function answerAt(recorded: RecordedLog, entry: Entry): StepOutcome | undefined {
  if (entry.type === 'message' && entry.message.role === 'error' && entry.via === 'model') {
    return { failure: failureAt(recorded, entry) }
  }
  const spoken = recorded.entry(1)
  if (entry.type === 'attempt' && !spoken) throw new ReplayStopped('end')
  if (entry.type !== 'attempt' || spoken?.type !== 'message' || spoken.via !== 'model') return undefined
  const { usage, finishReason = 'other', model, attempt, cost } = entry
  const { message, held, unsaid } = spoken
  const follows = recorded.entry(2)
  const ask = held === undefined ? undefined : follows?.type === 'wait' ? askOf(follows) : { reason: '' }
  const repair = follows && repairAt(follows, message)
  const answered: ModelAnswered = { message, usage, finishReason, model, attempt, ...(cost !== undefined && { cost }) }
  return { ...answered, ...(ask && { ask }), ...(repair && { repair, ...(unsaid && { unsaid }) }) }
}

function failureAt(recorded: RecordedLog, { message }: EntryOf<'message'>): FinalFailure {
  const ended = recorded.entry(1)
  const known = ended?.type === 'run' && ended.op === 'ended' ? ended.error : undefined
  const error = known ?? message.error ?? { code: 'unexpected', message: '' }
  const attempt = recorded.state.run?.attempts ?? 1
  return { class: 'unknown', model: '', attempt, effects: false, error, partial: message }
}

/** Returns the repair request that directly follows an answer. */
function repairAt(follows: Entry, answer: EntryOf<'message'>['message']): Repair | undefined {
  if (follows.type === 'message' && follows.via === 'system') {
    const purpose = purposeOf(follows)
    if (purpose !== 'repair' && purpose !== 'output-repair') return undefined
    const { content, label } = follows.message
    return { content, ...(label && { label }), ...(purpose === 'output-repair' && { of: 'output' }) }
  }
  if (follows.type !== 'call' || follows.op !== 'settled' || follows.outcome !== 'skipped' || follows.via !== 'hook') {
    return undefined
  }
  const own = answer.content.some((part) => part.type === 'tool-call' && part.callId === follows.callId)
  return own && follows.output.type === 'error-text' ? { content: follows.output.value } : undefined
}

/** Returns the recorded decision on a call. */
export function verdictOf(
  recorded: RecordedLog,
  call: ToolCall,
  { outcome, by, args, reason = '' }: EntryOf<'call', 'decided'>,
  decisions: number,
): Authorization {
  switch (outcome) {
    case 'proceed': {
      const crossed = recorded.find(`${call.callId}/handoff`)?.entry
      if (crossed?.type !== 'handoff') return { proceed: args, by }
      // The messages are filtered again, and compared by their hash.
      return { proceed: args, by, crossing: { filter: crossed.filter, ...(crossed.with && { with: crossed.with }) } }
    }
    case 'deny': {
      const settled = recorded.find(`${call.callId}/settled`)?.entry
      const code = settled?.type === 'call' && settled.op === 'settled' ? settled.error?.code : undefined
      return { deny: reason, by, ...(code !== undefined && { code }) }
    }
    case 'ask': {
      const wait = recorded.find(`${call.callId}/approval/${decisions + 1}`)?.entry
      return { ask: wait?.type === 'wait' ? askOf(wait) : { reason }, args, by }
    }
    case 'result': {
      const settled = recorded.find(`${call.callId}/settled`)?.entry
      if (settled?.type !== 'call' || settled.op !== 'settled') {
        const output = { type: 'text', value: '' } as const
        return { result: { ...call, outcome: 'ok', via: 'hook', output }, by }
      }
      const { outcome: ended, via, output, value, label, fields, details, error, effectStatus } = settled
      const more = {
        ...(value !== undefined && { value }),
        ...(fields && { fields }),
        ...(details !== undefined && { details }),
      }
      const about = { ...(error && { error }), ...(effectStatus && { effectStatus }) }
      return { result: { ...call, outcome: ended, via, output, label, ...more }, by, ...about }
    }
    default:
      return outcome satisfies never
  }
}

function askOf({
  reason = '',
  evidence,
  deadline,
  at,
  sticky,
}: EntryOf<'wait'>): Extract<Authorization, { ask: unknown }>['ask'] {
  return {
    reason,
    ...(evidence !== undefined && { evidence }),
    ...(deadline !== undefined && { expiresInMs: deadline - at }),
    ...(sticky && { sticky }),
  }
}

/** Returns the decisions that were recorded together. */
export function decisionsAt(recorded: RecordedLog): Decisions | undefined {
  const approvals: ApprovalDecision[] = []
  const toolResults: RemoteResult[] = []
  const uncertain: NonNullable<Decisions['uncertain']>[number][] = []
  const inputs: { id: string; value: Json }[] = []
  let count = 0
  for (let entry = recorded.entry(); entry?.type === 'resolved'; entry = recorded.entry(count)) {
    const { token, value, by } = entry
    const wait = recorded.state.waits.get(token)
    if (!wait) break
    count++
    const { kind, callId = token } = wait
    if (kind === 'approval') approvals.push(readVerdict(entry))
    else if (kind === 'remote') toolResults.push({ callId, ...readRemoteValue(value), by })
    else if (kind === 'uncertain') {
      const { decision, output }: Record<string, unknown> = isRecord(value) ? value : {}
      const outcome = decision === 'retry' || decision === 'done' ? decision : 'fail'
      uncertain.push({ callId, decision: outcome, ...(output !== undefined && { output }), by })
    } else inputs.push({ id: token, value })
  }
  return count > 0 ? { approvals, toolResults, uncertain, inputs } : undefined
}

/** Returns whether an entry records an expired wait. */
export function isByClock(entry: Entry): boolean {
  return entry.type === 'resolved' && entry.by === clock
}

/** Skips expired waits, which the driver records. Stops at expired approvals, which the loop records. */
export function takeGivenUp(recorded: RecordedLog): boolean {
  const { waits } = recorded.state
  let any = false
  for (;;) {
    const entry = nextOf(recorded)
    if (entry?.type !== 'resolved' || !isByClock(entry)) return any
    const wait = waits.get(entry.token)
    if (!wait || wait.kind === 'approval') return any
    recorded.take()
    any = true
  }
}
