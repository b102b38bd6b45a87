import type { Entry, EntryOf, ErrorInfo, EventPayloads, Message, ToolOutput } from '@provost/core'
import { assertNever, purposeOf, textOf, trustedLabel } from '@provost/core'

import { notReturned } from '../messages/transferred-context.ts'
import { isSilent } from '../reducers/message-reducer.ts'
import { clock, readVerdict } from '../reducers/wait-reducer.ts'
import { statusOf } from '../state/effect-status.ts'
import { pendingOn, pendingWork } from '../state/next-action.ts'
import { endPayload, lastText } from '../state/run-summary.ts'
import { callOf } from '../state/session-state.ts'
import type { EmitDurable, EventProjection } from '../types/log.ts'
import type { CallState, RunProgress, SessionState } from '../types/session-state.ts'
import { createBatchReport } from './batch-report.ts'

/** For logs of earlier releases. */
const unknownFailure: ErrorInfo = { code: 'unexpected', message: 'The run failed.' }

interface EndedCall {
  readonly entry: EntryOf<'call', 'settled'>
  readonly toolName: string
}

/** Emits nothing; expensive payloads are not built for it. */
export const muted: EmitDurable = Object.assign(() => {}, { streamed: () => {} })

/** Creates the projection of a log, at its beginning. */
export function createEventProjection(sessionId: string, state: SessionState): EventProjection {
  /** Messages that started live, with their attempt. */
  const started = new Map<string, number>()
  let inputs: Message[] | undefined
  /** Messages of the current turn. */
  let turn: Message[] | undefined
  /** How the last message entered. */
  let lastVia: EntryOf<'message'>['via'] | undefined
  let stepOpen = false
  /** Calls whose start was emitted, in this order, with what ends each: an end waits for the ends of earlier starts. */
  const inFlight = new Map<string, EndedCall | undefined>()
  /** Calls whose start event follows from the entry of another call. */
  const announced = new Set<string>()
  /** Requests whose answer was not emitted. The state drops a wait once its call has ended; its answer may follow. */
  const requests = new Map<string, { readonly wait: EntryOf<'wait'>; readonly toolName: string }>()
  /** What the state had before the current entry: the call that it is about, and an answer that waited for approval. */
  let callBefore: CallState | undefined
  let unapprovedBefore: Message | undefined

  const batches = createBatchReport()

  function emitMessage(emit: EmitDurable, message: Message, tried = 1, fate: { discarded?: true } = {}): void {
    const attempt = started.get(message.id) ?? tried
    const isNew = !started.delete(message.id)
    if (emit !== muted) {
      const start = { messageId: message.id, attempt, role: message.role }
      if (isNew && isStreamed(message)) emit.streamed('message.start', start)
      else if (isNew) emit('message.start', start)
      emit('message.end', { messageId: message.id, attempt, message, ...fate })
    }
    if (!fate.discarded && !isSilent(message)) turn?.push(message)
  }

  function beginTurn(emit: EmitDurable, trigger: EventPayloads['turn.start']['trigger']): void {
    endTurn(emit)
    turn = []
    emit('turn.start', { trigger })
  }

  function endTurn(emit: EmitDurable): void {
    if (!turn) return
    const messages = turn
    turn = undefined
    if (emit !== muted) emit('turn.end', { messages, text: lastText(messages) })
  }

  function endStep(emit: EmitDurable, run: RunProgress | undefined, finish?: 'error' | 'interrupted'): void {
    if (!stepOpen || !run) return
    stepOpen = false
    if (emit === muted) return
    const { usage = {}, cost, finishReason = 'other' } = run.lastAttempt ?? {}
    emit('step.end', { usage, ...(cost !== undefined && { cost }), finishReason: finish ?? finishReason })
  }

  /** Emits an answer of a model that counts now. */
  function answered(emit: EmitDurable, message: Message, fate: { discarded?: true } = {}): void {
    const { run } = state
    const attempt = run?.lastAttempt?.attempt ?? 1
    // An answer implies its step; an abort may come before any step has begun.
    if (message.role === 'assistant') stepOpen = true
    emitMessage(emit, message, attempt, fate)
    if (message.role !== 'assistant') return endStep(emit, run, message.role === 'aborted' ? 'interrupted' : 'error')
    const queueSize = run?.openCalls ?? 0
    emit('turn.mode', { mode: queueSize > 0 ? 'steer' : 'respond', queueSize })
    if (queueSize === 0) endStep(emit, run)
  }

  function projectMessage(emit: EmitDurable, entry: EntryOf<'message'>): void {
    const { message } = entry
    if (message.role === 'system') return
    const before = lastVia
    lastVia = entry.via
    switch (entry.via) {
      case 'input':
        if (inputs) inputs.push(message)
        else emitMessage(emit, message)
        break
      case 'steer':
        emit('agent.steered', { text: textOf(message), messageId: message.id })
        beginTurn(emit, 'steer')
        emitMessage(emit, message)
        break
      case 'queue':
        // Inputs that enter together share a turn.
        if (before !== 'queue') beginTurn(emit, 'queue')
        emitMessage(emit, message)
        break
      case 'model':
        if (entry.unsaid) answered(emit, { ...message, content: [] }, { discarded: true })
        // An answer that is held counts once it is approved.
        else if (entry.held === undefined) answered(emit, message)
        break
      case 'system':
      case 'tool':
        // The turn of the agent that takes over begins with its note.
        if (purposeOf(entry) === 'handoff-note') beginTurn(emit, 'handoff')
        emitMessage(emit, message)
        break
      default:
        assertNever(entry.via)
    }
  }

  function projectCall(emit: EmitDurable, entry: Extract<Entry, { type: 'call' }>): void {
    const { callId } = entry
    if (entry.op === 'started') {
      if (!announced.delete(callId)) startCall(emit, callId)
      for (const id of entry.announces ?? []) {
        announced.add(id)
        startCall(emit, id)
      }
      if (emit === muted) return
      const { starts, returnHandoff } = callBefore ?? {}
      if (starts === 1 && returnHandoff) emit('handoff.start', { ...targetOf(returnHandoff.entry), callId })
    } else if (entry.op === 'settled') {
      const ended: EndedCall = { entry, toolName: nameOf(callBefore) }
      announced.delete(callId)
      if (callBefore?.parentCallId !== undefined) return settledEvent(emit, ended)
      if (callBefore?.returnHandoff) emitReturn(emit, callBefore.returnHandoff.entry, entry)
      if (inFlight.has(callId)) inFlight.set(callId, ended)
      else endCall(emit, ended)
      endInOrder(emit)
      if (state.completedMessage) {
        if (!state.hidden.has(state.completedMessage.id)) emitMessage(emit, state.completedMessage)
        endStep(emit, state.run)
      }
    } else if (entry.op === 'parked') {
      // A parked composite does not delay the end events of other calls.
      inFlight.delete(callId)
      endInOrder(emit)
    }
  }

  function stateOf(callId: string | undefined): CallState | undefined {
    return callId === undefined ? undefined : state.run && callOf(state.run, callId)
  }

  /** Returns the tool name of a call. A withheld answer withholds the names of its calls. */
  function nameOf(call: CallState | undefined): string {
    return call && !state.hidden.has(state.messages.at(-1)?.id ?? '') ? call.part.toolName : ''
  }

  function startCall(emit: EmitDurable, callId: string): void {
    const begun = stateOf(callId)
    const { parentCallId, args: input = null, effect } = begun ?? {}
    if (parentCallId === undefined) inFlight.set(callId, undefined)
    if (emit === muted) return
    emit('tool.execute.start', {
      callId,
      toolName: nameOf(begun),
      input,
      ...(parentCallId !== undefined && { parentCallId }),
      ...(effect && { effectStatus: statusOf(effect, 'dispatched') }),
    })
  }

  /** Tools end in the order in which they started, so that the order of events is deterministic. */
  function endInOrder(emit: EmitDurable): void {
    for (const [id, ended] of inFlight) {
      if (!ended) break
      inFlight.delete(id)
      endCall(emit, ended)
    }
  }

  function endCall(emit: EmitDurable, ended: EndedCall): void {
    settledEvent(emit, ended)
    const settled = batches.ended(ended.entry)
    if (settled) emit('tool.batch.settled', settled)
  }

  function projectWait(emit: EmitDurable, entry: EntryOf<'wait'>): void {
    // The child's own events report it.
    if (entry.child) return
    const toolName = nameOf(stateOf(entry.callId))
    requests.set(entry.token, { wait: entry, toolName })
    const left = entry.kind === 'approval' && batches.asked(entry, toolName)
    if (left) emit('tool.batch.settled', left)
    const { approvals, remoteCalls, uncertain, inputs: questions } = pendingOn(state, [entry])
    const { token } = entry
    for (const approval of approvals) emit('tool.approval.requested', { ...approval, token })
    for (const call of remoteCalls) {
      const { expiresAt: deadline } = call
      emit('tool.remote.requested', { ...call, token, ...(deadline !== undefined && { deadline }) })
    }
    for (const question of questions) emit('input.requested', { ...question, token })
    for (const { callId, input, effectStatus } of uncertain) {
      inFlight.delete(callId)
      emit('tool.uncertain', { callId, toolName, input, ...(effectStatus && { effectStatus }) })
      // The calls beside it do not wait for its end.
      endInOrder(emit)
    }
  }

  function projectResolved(emit: EmitDurable, entry: EntryOf<'resolved'>): void {
    const request = requests.get(entry.token)
    if (!request) return
    requests.delete(entry.token)
    const { wait, toolName } = request
    const callId = wait.callId ?? entry.token
    if (wait.kind === 'approval') {
      const { decision, reason, by = '' } = readVerdict(entry)
      const outcome = by === clock && decision !== 'approve' ? 'expired' : decision
      emit('tool.approval.resolved', {
        id: entry.token,
        token: entry.token,
        callId,
        toolName,
        decision: outcome,
        by,
        ...(reason !== undefined && { reason }),
      })
      if (wait.callId !== undefined || !unapprovedBefore) return
      if (decision === 'approve') answered(emit, unapprovedBefore)
      // The content of a denied answer is not published with the denial.
      else emitMessage(emit, { ...unapprovedBefore, content: [] }, state.run?.lastAttempt?.attempt, { discarded: true })
    } else if (wait.kind === 'remote') {
      emit('tool.remote.resolved', { id: entry.token, token: entry.token, callId, toolName, by: entry.by })
    } else if (wait.kind === 'input') {
      emit('input.resolved', { id: entry.token, token: entry.token, callId, toolName, by: entry.by })
    }
  }

  function projectHandoff(emit: EmitDurable, entry: EntryOf<'handoff'>): void {
    const { callId = '', denied, label = trustedLabel } = entry
    // It starts and ends with its call.
    if (entry.mode === 'return' && denied === undefined) return
    const target = { ...targetOf(entry), callId }
    emit('handoff.start', target)
    if (denied === undefined) {
      emit('handoff.end', { ...target, status: 'accepted', label })
      endTurn(emit)
    } else emit('handoff.end', { ...target, status: 'denied', reason: denied, label })
  }

  function projectRun(emit: EmitDurable, entry: Extract<Entry, { type: 'run' }>): void {
    switch (entry.op) {
      case 'started':
        inputs = []
        inFlight.clear()
        announced.clear()
        batches.clear()
        turn = undefined
        lastVia = undefined
        stepOpen = false
        break
      case 'resumed':
        lastVia = undefined
        // The calls that have not started are announced again.
        announced.clear()
        emit('agent.resumed', { sessionId })
        beginTurn(emit, 'resume')
        break
      case 'suspended':
        endTurn(emit)
        emit('agent.suspended', { pending: pendingWork(state) })
        emit('agent.end', endPayload(state))
        break
      case 'ended':
        endStep(emit, state.run, entry.status === 'aborted' ? 'interrupted' : 'error')
        endTurn(emit)
        requests.clear()
        if (entry.status === 'failed') {
          const { error = unknownFailure, source = { kind: 'loop', name: entry.agent } } = entry
          emit('agent.error', { error, source })
        }
        emit('agent.end', endPayload(state))
        break
      default:
        assertNever(entry)
    }
  }

  function flush(emit: EmitDurable): void {
    if (!inputs) return
    const messages = inputs
    inputs = undefined
    emit('agent.start', { sessionId, input: messages })
    beginTurn(emit, 'input')
    for (const message of messages) emitMessage(emit, message)
  }

  return {
    before(entry, emit) {
      if (inputs && !(entry.type === 'message' && entry.via === 'input')) flush(emit)
      callBefore = entry.type === 'call' ? stateOf(entry.callId) : undefined
      unapprovedBefore = state.run?.unapprovedAnswer?.message
    },
    flush,
    opened(messageId, attempt) {
      started.set(messageId, attempt)
    },
    stepped() {
      stepOpen = true
    },
    project(entry, emit) {
      switch (entry.type) {
        case 'run':
          return projectRun(emit, entry)
        case 'message':
          return projectMessage(emit, entry)
        case 'call':
          return projectCall(emit, entry)
        case 'wait':
          return projectWait(emit, entry)
        case 'resolved':
          return projectResolved(emit, entry)
        case 'audit': {
          if (emit === muted) return undefined
          const { rule, callId, sources, evidence, sandbox } = entry
          return emit(`governance.${entry.decision}`, {
            rule,
            ...(callId !== undefined && { callId }),
            sources,
            evidence,
            ...(sandbox && { sandbox }),
          })
        }
        case 'handoff':
          return projectHandoff(emit, entry)
        case 'view':
          return entry.compacted && emit('context.compacted', entry.compacted)
        case 'attempt':
        case 'child':
        case 'ext':
        case 'memo':
        case 'tail':
          return undefined
        default:
          return assertNever(entry)
      }
    },
  }
}

/** Whether a message may have started before it was complete. */
function isStreamed({ role }: Message): boolean {
  return role === 'assistant' || role === 'error' || role === 'aborted'
}

function targetOf({ from, to, mode }: EntryOf<'handoff'>): Pick<EntryOf<'handoff'>, 'from' | 'to' | 'mode'> {
  return { from, to, mode }
}

/** Emits the end of a return handoff, with its call. */
function emitReturn(
  emit: EmitDurable,
  handoff: EntryOf<'handoff'>,
  { callId, outcome, error, label }: EntryOf<'call', 'settled'>,
): void {
  const status = error?.code === notReturned ? 'denied' : 'returned'
  const reason = outcome === 'ok' ? {} : { reason: error?.message ?? outcome }
  emit('handoff.end', { ...targetOf(handoff), callId, status, label, ...reason })
}

function settledEvent(emit: EmitDurable, { entry, toolName }: EndedCall): void {
  if (emit === muted) return
  const { callId, outcome, output, label, details, durationMs, via, effectStatus } = entry
  if (outcome === 'ok') {
    emit('tool.execute.end', {
      callId,
      toolName,
      output,
      label,
      durationMs,
      via,
      ...(details !== undefined && { details }),
      ...(effectStatus && { effectStatus }),
    })
  } else if (outcome === 'skipped') emit('tool.skipped', { callId, toolName, reason: outputText(output) })
  else {
    const error = errorOf(entry)
    emit('tool.execute.error', { callId, toolName, error, durationMs, ...(effectStatus && { effectStatus }) })
  }
}

function errorOf(entry: EntryOf<'call', 'settled'>): ErrorInfo {
  return entry.error ?? { code: `tool-${entry.outcome}`, message: outputText(entry.output) }
}

/** Returns the output of a call as text. */
export function outputText(output: ToolOutput): string {
  if (output.type === 'text' || output.type === 'error-text') return output.value
  if (output.type === 'execution-denied') return output.reason ?? ''
  return JSON.stringify(output.value)
}
