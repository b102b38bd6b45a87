import type {
  CallOutcome,
  EntryOf,
  ErrorInfo,
  Grant,
  Json,
  Label,
  Message,
  NewEntry,
  ToolOutput,
  ToolQuestion,
  ToolResult,
  WaitAbout,
} from '@provost/core'
import { fillLabel, positionId, toJson, trustedLabel } from '@provost/core'

import type { AgentPlan } from './agent-plan.ts'
import type { ChildFold } from './child-fold.ts'
import type { Place } from './entry.ts'
import { hashJson, newEntry, placeOf } from './entry.ts'
import { clock } from './fold.ts'
import type { CallState, LogState } from './log-state.ts'
import { offsetOf } from './log-state.ts'
import type { FinalFailure, ModelAnswered, Verdict } from './loop.ts'
import { answerJson } from './output.ts'
import { pendingOn } from './position.ts'
import { saidBy } from './said-by.ts'

/** A settled call beyond what hooks see of it. */
export interface Settling {
  readonly error?: ErrorInfo | undefined
  readonly durationMs?: number
}

/** What a model's answer puts into the log: that it was paid for, what it said, and what became of it. */
export function answerEntries(state: LogState, plan: AgentPlan, place: Place, answered: ModelAnswered): NewEntry[] {
  const { message, ask, repair, unsaid } = answered
  const token = `${message.id}/approval`
  const entries = [
    answeredEntry(state, plan, place, answered),
    newEntry(place, message.id, {
      type: 'message',
      message,
      via: 'model',
      ...(ask && { held: token }),
      ...(repair && unsaid && { unsaid }),
    }),
  ]
  if (ask) {
    entries.push(
      newEntry(place, token, {
        type: 'wait',
        token,
        kind: 'approval',
        reason: ask.reason,
        ...(ask.evidence !== undefined && { evidence: toJson(ask.evidence) }),
        ...(ask.expiresInMs !== undefined && { deadline: Date.now() + ask.expiresInMs }),
      }),
    )
  } else if (repair) entries.push(...repairEntries(place, message, repair))
  return entries
}

/** That a model answered, and what for. */
export function answeredEntry(
  state: LogState,
  plan: AgentPlan,
  place: Place,
  answered: Omit<ModelAnswered, 'message'>,
): NewEntry {
  const { usage, finishReason, cost } = answered
  const attempt = answered.attempt ?? (state.run?.attempts ?? 0) + 1
  return newEntry(place, positionId(place.runId, place.step, 'attempt', attempt), {
    type: 'attempt',
    attempt,
    model: answered.model ?? plan.modelName,
    usage,
    ...(cost !== undefined && { cost }),
    outcome: 'answered',
    finishReason,
  })
}

/** The complaint goes where the model looks: into the results of its calls, or into a message of its own. */
function repairEntries(place: Place, message: Message, repair: NonNullable<ModelAnswered['repair']>): NewEntry[] {
  const calls = message.content.filter((part) => part.type === 'tool-call' && !part.providerExecuted)
  const text = typeof repair.content === 'string' ? repair.content : ''
  if (calls.length === 0) {
    const id = positionId(place.runId, place.step, 'message', repair.of ?? 'repair')
    const content =
      typeof repair.content === 'string' ? [{ type: 'text' as const, text: repair.content }] : repair.content
    const label = fillLabel(repair.label, message.label ?? trustedLabel)
    return [
      newEntry(place, id, {
        type: 'message',
        message: { id, role: 'user', content, label, agent: place.agent, createdAt: Date.now() },
        via: 'system',
      }),
    ]
  }
  return calls.flatMap((part) =>
    part.type === 'tool-call'
      ? [
          newEntry(place, `${part.callId}/settled`, {
            type: 'call',
            op: 'settled',
            callId: part.callId,
            outcome: 'skipped',
            via: 'hook',
            output: { type: 'error-text', value: text },
            label: message.label ?? trustedLabel,
            durationMs: 0,
          }),
        ]
      : [],
  )
}

/** What a model call that failed for good puts into the log: what was said before, and the end of the run. */
export function failureEntries(state: LogState, plan: AgentPlan, place: Place, failure: FinalFailure): NewEntry[] {
  return [
    closingMessage(place, 'error', failure.partial, failure.error, failure.attempt),
    endedEntry(state, plan, 'failed', failure.error, place),
  ]
}

/**
 * The message that closes a run which did not get to its end: what was said stays, calls that nobody will answer go.
 *
 * @param key names the message where nothing had been said.
 */
export function closingMessage(
  place: Place,
  role: 'error' | 'aborted',
  partial: Message | undefined,
  error?: ErrorInfo,
  key: string | number = role,
): NewEntry {
  const id = partial?.id ?? positionId(place.runId, place.step, 'message', key)
  const content = (partial?.content ?? []).filter(({ type }) => type !== 'tool-call' && type !== 'tool-result')
  return newEntry(place, id, {
    type: 'message',
    message: {
      id,
      role,
      content,
      ...(partial?.label && { label: partial.label }),
      agent: place.agent,
      createdAt: Date.now(),
      ...(error && { error }),
      ...(content.length > 0 && { partial: true }),
    },
    via: 'model',
  })
}

/** The judgement of a call, and what follows from it at once. */
export function decidedEntries(state: LogState, call: CallState, verdict: Verdict): readonly NewEntry[] {
  const place = placeOf(state)
  const { callId } = call.part
  const args = 'proceed' in verdict ? verdict.proceed : 'ask' in verdict ? (verdict.args ?? call.args) : call.args
  const decided = (outcome: 'proceed' | 'deny' | 'ask' | 'result', reason?: string): NewEntry =>
    newEntry(place, `${callId}/decided/${call.decisions + 1}`, {
      type: 'call',
      op: 'decided',
      callId,
      outcome,
      by: verdict.by ?? 'default',
      args,
      ...(outcome === 'ask' && { argsHash: hashJson(args) }),
      ...(reason !== undefined && { reason }),
    })
  if ('proceed' in verdict) return [decided('proceed')]
  if ('deny' in verdict) {
    const output: ToolOutput = { type: 'execution-denied', reason: verdict.deny }
    return [
      decided('deny', verdict.deny),
      settled(place, callId, 'denied', output, { code: verdict.code ?? 'tool-denied', message: verdict.deny }),
    ]
  }
  if ('result' in verdict)
    return [decided('result'), settledEntry(state, call, verdict.result, { error: verdict.error })]
  return [decided('ask', verdict.ask.reason), approvalWait(place, call, verdict.ask)]
}

function approvalWait(place: Place, call: CallState, ask: Extract<Verdict, { ask: unknown }>['ask']): NewEntry {
  const token = `${call.part.callId}/approval/${call.decisions + 1}`
  return newEntry(place, token, {
    type: 'wait',
    token,
    kind: 'approval',
    callId: call.part.callId,
    reason: ask.reason,
    ...(ask.evidence !== undefined && { evidence: toJson(ask.evidence) }),
    ...(ask.expiresInMs !== undefined && { deadline: Date.now() + ask.expiresInMs }),
    ...(ask.sticky && { sticky: ask.sticky }),
  })
}

function settled(place: Place, callId: string, outcome: CallOutcome, output: ToolOutput, error: ErrorInfo): NewEntry {
  return newEntry(place, `${callId}/settled`, {
    type: 'call',
    op: 'settled',
    callId,
    outcome,
    via: 'log',
    output,
    // Our own words, and whatever a hook said.
    label: trustedLabel,
    error,
    durationMs: 0,
  })
}

/** Who decides what becomes of a call that a process died in, where its tool can look it up. */
export const lookedUpBy = 'lookup'

/** What a lookup said of a call that a process died in: it took no effect, and may run. */
export function notDoneEntry(state: LogState, call: CallState): NewEntry {
  return lookedUp(state, call, 'proceed')
}

/** What a lookup said of a call that a process died in: it is done. */
export function foundEntry(state: LogState, call: CallState): NewEntry {
  return lookedUp(state, call, 'result')
}

function lookedUp(state: LogState, call: CallState, outcome: 'proceed' | 'result'): NewEntry {
  const { callId } = call.part
  return newEntry(placeOf(state), `${callId}/decided/${call.decisions + 1}`, {
    type: 'call',
    op: 'decided',
    callId,
    outcome,
    by: lookedUpBy,
    args: call.args,
  })
}

/** A call that will not run, with the reason for the model. */
export function unstartedEntry(
  state: LogState,
  call: CallState,
  outcome: 'skipped' | 'aborted' | 'denied',
  reason: string,
): NewEntry {
  return settled(
    placeOf(state),
    call.part.callId,
    outcome,
    { type: 'error-text', value: reason },
    {
      code: `tool-${outcome}`,
      message: reason,
    },
  )
}

/** The result of a call. */
export function settledEntry(state: LogState, call: CallState, result: ToolResult, more: Settling = {}): NewEntry {
  const { error, durationMs = 0 } = more
  // The model gets the output alone; a composite gets the value too.
  const told = call.parentCallId === undefined || result.value === saidBy(result.output)
  return newEntry(placeOf(state), `${call.part.callId}/settled`, {
    type: 'call',
    op: 'settled',
    callId: call.part.callId,
    outcome: result.outcome,
    via: result.via,
    output: result.output,
    ...(!told && result.value !== undefined && { value: result.value }),
    label: result.label,
    ...(result.fields && { fields: result.fields }),
    ...(result.details !== undefined && { details: result.details }),
    ...(error && { error }),
    durationMs,
  })
}

/**
 * Commits before the tool starts: after a crash it tells that the effect may have taken place.
 *
 * @param repeatable whether it would run again unasked then.
 */
export function startedEntry(state: LogState, call: CallState, fence: number, repeatable = false): NewEntry {
  return newEntry(placeOf(state), `${call.part.callId}/started/${call.starts + 1}`, {
    type: 'call',
    op: 'started',
    callId: call.part.callId,
    ...(call.argsHash !== undefined && { argsHash: call.argsHash }),
    fence,
    ...(repeatable && { repeatable }),
  })
}

/**
 * Parks a call until its result comes from elsewhere.
 *
 * @param withinMs after that its result is not taken any more.
 */
export function remoteWait(state: LogState, call: CallState, withinMs: number = Number.POSITIVE_INFINITY): NewEntry {
  return callWait(
    state,
    call,
    'remote',
    withinMs === Number.POSITIVE_INFINITY ? {} : { deadline: Date.now() + withinMs },
  )
}

/** Parks a call whose process died in it. */
export function uncertainWait(state: LogState, call: CallState): NewEntry {
  return callWait(state, call, 'uncertain')
}

function callWait(
  state: LogState,
  call: CallState,
  kind: 'remote' | 'uncertain',
  more: { readonly deadline?: number } = {},
): NewEntry {
  const token = `${call.part.callId}/${kind}/${call.starts}`
  return newEntry(placeOf(state), token, { type: 'wait', token, kind, callId: call.part.callId, ...more })
}

/** A question of a running tool. The call stays where it is. */
export function inputWait(
  state: LogState,
  call: CallState,
  { message, schema }: ToolQuestion,
  key: string,
  deadline: number,
): NewEntry {
  const { callId } = call.part
  const token = `${callId}/input/${key}`
  const more = { reason: message, deadline, ...(schema && { schema }) }
  return newEntry(placeOf(state), token, { type: 'wait', token, kind: 'input', callId, ...more })
}

/** A call that a composite makes. */
export function plannedEntry(
  state: LogState,
  parent: CallState,
  callId: string,
  key: string,
  toolName: string,
  args: Json,
): NewEntry {
  const parentCallId = parent.part.callId
  return newEntry(placeOf(state), `${callId}/planned`, {
    type: 'call',
    op: 'planned',
    callId,
    parentCallId,
    key,
    toolName,
    args,
  })
}

/** All that a composite has under way waits for somebody outside. It may come to that more than once. */
export function parkedEntry(state: LogState, call: CallState): NewEntry {
  const { callId } = call.part
  return newEntry(placeOf(state), `${callId}/parked/${offsetOf(state)}`, { type: 'call', op: 'parked', callId })
}

/** A composite waits for an answer from outside. */
export function parkingWait(state: LogState, call: CallState, token: string, about: WaitAbout): NewEntry {
  const { message = '', schema, withinMs = Number.POSITIVE_INFINITY } = about
  return newEntry(placeOf(state), token, {
    type: 'wait',
    token,
    kind: 'input',
    callId: call.part.callId,
    parks: true,
    reason: message,
    ...(schema && { schema }),
    ...(Number.isFinite(withinMs) && { deadline: Date.now() + withinMs }),
  })
}

/** What a composite has to know again after a crash. */
export function memoEntry(state: LogState, call: CallState, key: string, value: Json): NewEntry {
  return newEntry(placeOf(state), `${key}/memo`, { type: 'memo', key, value, callId: call.part.callId })
}

/** The answer to a question, or that there is none. */
export function resolvedEntry(state: LogState, token: string, value: Json, by: string): NewEntry {
  return newEntry(placeOf(state), `${token}/resolved`, { type: 'resolved', token, value, by })
}

/** That nobody answered in time: the call of the wait ends with a timeout. */
export function expiredEntry(state: LogState, { token }: EntryOf<'wait'>): NewEntry {
  return resolvedEntry(state, token, null, clock)
}

/** That something from the inbox was taken: it does not enter again. */
export function takenEntry(place: Place, token: string, by = 'inbox'): NewEntry {
  return newEntry(place, `${token}/resolved`, { type: 'resolved', token, value: null, by })
}

/** The run pauses; whoever has the log can go on with it. */
export function suspendedEntry(state: LogState): NewEntry {
  return lifecycleEntry(state, 'suspended')
}

/** The run goes on. */
export function resumedEntry(state: LogState): NewEntry {
  return lifecycleEntry(state, 'resumed')
}

function lifecycleEntry(state: LogState, op: 'suspended' | 'resumed'): NewEntry {
  const place = placeOf(state)
  // A run may pause more than once in a step: the offset tells the pauses apart.
  return newEntry(place, positionId(place.runId, place.step, op, offsetOf(state)), { type: 'run', op })
}

/** The end of a run, with what came out of it. */
export function endedEntry(
  state: LogState,
  plan: AgentPlan,
  status: 'completed' | 'failed' | 'aborted',
  error?: ErrorInfo,
  place: Place = placeOf(state),
): NewEntry {
  const answer = status === 'completed' ? state.run?.answer : undefined
  const output: Json | undefined = answer && answerJson(plan, answer)
  return newEntry(place, positionId(place.runId, place.step, 'ended', offsetOf(state)), {
    type: 'run',
    op: 'ended',
    status,
    ...(output !== undefined && { output }),
    ...(error && { error }),
  })
}

/** That a composite begins a child. */
export function spawnedEntry(
  state: LogState,
  call: CallState,
  child: Pick<EntryOf<'child', 'spawned'>, 'callId' | 'log' | 'agent' | 'inputHash' | 'filter' | 'hash' | 'with'>,
  label: Label,
  grant: Grant | undefined,
): NewEntry {
  return newEntry(placeOf(state), `${child.callId}/spawned`, {
    type: 'child',
    op: 'spawned',
    ...child,
    parentCallId: call.part.callId,
    ...(grant && { grant }),
    label,
  })
}

/** What a child has come to. One that pauses may do so more than once: its offset tells the pauses apart. */
export function joinedEntry(
  state: LogState,
  child: Pick<ChildFold, 'callId' | 'log'>,
  at: number,
  came: Omit<EntryOf<'child', 'joined'>, keyof EntryOf<'run', 'resumed'> | 'callId' | 'log'>,
): NewEntry {
  const id = came.status === 'suspended' ? `${child.callId}/paused/${at}` : `${child.callId}/joined`
  const { callId, log } = child
  return newEntry(placeOf(state), id, { type: 'child', op: 'joined', callId, log, ...came })
}

/** That a child waits, for those who answer the runs above it. */
export function childWait(state: LogState, callId: string, wait: EntryOf<'wait'>, child: LogState): NewEntry {
  const { token, kind, reason, deadline, evidence, sticky, schema } = wait
  const all = Object.values(pendingOn(child, [wait])).flat()
  const [about] = all
  return newEntry(placeOf(state), token, {
    type: 'wait',
    token,
    kind,
    ...(wait.callId !== undefined && { callId: wait.callId }),
    ...(reason !== undefined && { reason }),
    ...(deadline !== undefined && { deadline }),
    ...(evidence !== undefined && { evidence }),
    ...(sticky && { sticky }),
    ...(schema && { schema }),
    child: {
      callId,
      toolName: about?.toolName ?? '',
      input: about && 'input' in about ? about.input : null,
      agent: about?.agent ?? wait.agent,
      runPath: about?.runPath ?? [callId],
      ...(about && 'startedAt' in about && { startedAt: about.startedAt }),
    },
  })
}
