import type { Entry, EntryOf, ErrorInfo, EventPayloads, Message } from '@provost/core'
import { assertNever, purposeOf, textOf, trustedLabel } from '@provost/core'

import { isSilent } from '../reducers/message-reducer.ts'
import { clock, readVerdict } from '../reducers/wait-reducer.ts'
import { pendingOn, pendingWork } from '../state/next-action.ts'
import { endPayload, lastText } from '../state/run-summary.ts'
import type { EmitDurable, EventProjection } from '../types/log.ts'
import type { CallState, RunProgress, SessionState } from '../types/session-state.ts'
import { createCallEvents, handoffTarget } from './call-events.ts'
import { muted } from './muted.ts'

/** For logs of earlier releases. */
const unknownFailure: ErrorInfo = { code: 'unexpected', message: 'The run failed.' }

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
  /** Requests whose answer was not emitted. The state drops a wait once its call has ended; its answer may follow. */
  const requests = new Map<string, { readonly wait: EntryOf<'wait'>; readonly toolName: string }>()
  /** What the state had before the current entry: the call that it is about, and an answer that waited for approval. */
  let callBefore: CallState | undefined
  let unapprovedBefore: Message | undefined

  const calls = createCallEvents(state)

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
    if (entry.op === 'started') return calls.started(emit, entry, callBefore)
    if (entry.op === 'parked') return calls.left(emit, entry.callId)
    if (entry.op !== 'settled') return
    calls.settled(emit, entry, callBefore)
    if (!state.completedMessage) return
    if (!state.hidden.has(state.completedMessage.id)) emitMessage(emit, state.completedMessage)
    endStep(emit, state.run)
  }

  function projectWait(emit: EmitDurable, entry: EntryOf<'wait'>): void {
    // The child's own events report it.
    if (entry.child) return
    const toolName = calls.toolName(calls.find(entry.callId))
    requests.set(entry.token, { wait: entry, toolName })
    if (entry.kind === 'approval') calls.asked(emit, entry, toolName)
    const { approvals, remoteCalls, uncertain, inputs: questions } = pendingOn(state, [entry])
    const { token } = entry
    for (const approval of approvals) emit('tool.approval.requested', { ...approval, token })
    for (const call of remoteCalls) {
      const { expiresAt: deadline } = call
      emit('tool.remote.requested', { ...call, token, ...(deadline !== undefined && { deadline }) })
    }
    for (const question of questions) emit('input.requested', { ...question, token })
    for (const { callId, input, effectStatus } of uncertain) {
      emit('tool.uncertain', { callId, toolName, input, ...(effectStatus && { effectStatus }) })
      calls.left(emit, callId)
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
    const target = { ...handoffTarget(entry), callId }
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
        calls.clear()
        turn = undefined
        lastVia = undefined
        stepOpen = false
        break
      case 'resumed':
        lastVia = undefined
        calls.resumed()
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
      callBefore = entry.type === 'call' ? calls.find(entry.callId) : undefined
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
