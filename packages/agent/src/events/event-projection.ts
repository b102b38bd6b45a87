import type { Entry, EntryOf, ErrorInfo, EventPayloads, Message, ToolOutput } from '@provost/core'
import { assertNever, purposeOf, textOf, trustedLabel } from '@provost/core'

import { notReturned } from '../messages/transferred-context.ts'
import { isSilent } from '../reducers/message-reducer.ts'
import { clock, readVerdict } from '../reducers/wait-reducer.ts'
import { pendingOn, pendingWork } from '../state/next-action.ts'
import { endPayload, lastText } from '../state/run-summary.ts'
import { callOf } from '../state/session-state.ts'
import type { EmitDurable, EventProjection } from '../types/log.ts'
import type { RunProgress, SessionState } from '../types/session-state.ts'

/** Emits nothing; expensive payloads are not built for it. */
export const muted: EmitDurable = Object.assign(() => {}, { streamed: () => {} })

/** Creates the projection of a log, at its beginning. */
export function createEventProjection(sessionId: string, state: SessionState): EventProjection {
  /** Messages that started live, with their attempt. */
  const started = new Map<string, number>()
  const waits = new Map<string, EntryOf<'wait'>>()
  let inputs: Message[] | undefined
  let pendingApproval: Message | undefined
  /** Messages of the current turn. */
  let turn: Message[] | undefined
  let stepOpen = false
  /** Started calls in call order, with the entry that settles each. */
  let inFlight = new Map<string, EntryOf<'call', 'settled'> | undefined>()
  /** Return handoffs without an answer yet, by their calls. */
  const returnHandoffs = new Map<string, EntryOf<'handoff'>>()
  /** Tool names of the calls of the current step. */
  const names = new Map<string, string>()

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
    names.clear()
    for (const part of message.content) if (part.type === 'tool-call') names.set(part.callId, part.toolName)
    const queueSize = run?.openCalls ?? 0
    emit('turn.mode', { mode: queueSize > 0 ? 'steer' : 'respond', queueSize })
    if (queueSize === 0) endStep(emit, run)
  }

  function projectMessage(emit: EmitDurable, entry: EntryOf<'message'>): void {
    const { message } = entry
    if (message.role === 'system') return
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
        beginTurn(emit, 'queue')
        emitMessage(emit, message)
        break
      case 'model':
        if (entry.unsaid) answered(emit, { ...message, content: [] }, { discarded: true })
        else if (entry.held === undefined) answered(emit, message)
        else pendingApproval = message
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
    if (entry.op === 'planned') names.set(callId, entry.toolName)
    const toolName = names.get(callId) ?? ''
    const call = state.run && callOf(state.run, callId)
    const parentCallId = call?.parentCallId
    if (entry.op === 'started') {
      if (parentCallId === undefined) inFlight.set(callId, undefined)
      if (emit === muted) return
      const by = parentCallId === undefined ? {} : { parentCallId }
      emit('tool.execute.start', { callId, toolName, input: call?.args ?? null, ...by })
      const returnHandoff = call?.starts === 1 ? returnHandoffs.get(callId) : undefined
      if (returnHandoff)
        emit('handoff.start', { from: returnHandoff.from, to: returnHandoff.to, mode: returnHandoff.mode, callId })
    } else if (entry.op === 'settled') {
      if (parentCallId !== undefined) return settledEvent(emit, entry, toolName)
      const returnHandoff = returnHandoffs.get(callId)
      if (returnHandoff) emitReturn(emit, returnHandoff, entry)
      returnHandoffs.delete(callId)
      if (inFlight.has(callId)) inFlight.set(callId, entry)
      else settledEvent(emit, entry, toolName)
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

  /** Tools end in the order in which they started, so that the order of events is deterministic. */
  function endInOrder(emit: EmitDurable): void {
    for (const [id, settled] of inFlight) {
      if (!settled) break
      inFlight.delete(id)
      settledEvent(emit, settled, names.get(id) ?? '')
    }
  }

  function projectWait(emit: EmitDurable, entry: EntryOf<'wait'>): void {
    // The child's own events report it.
    if (entry.child) return
    waits.set(entry.token, entry)
    const { approvals, remoteCalls, uncertain, inputs: questions } = pendingOn(state, [entry])
    const { token } = entry
    for (const approval of approvals) emit('tool.approval.requested', { ...approval, token })
    for (const call of remoteCalls) {
      const { expiresAt: deadline } = call
      emit('tool.remote.requested', { ...call, token, ...(deadline !== undefined && { deadline }) })
    }
    for (const question of questions) emit('input.requested', { ...question, token })
    for (const { callId, toolName, input } of uncertain) {
      inFlight.delete(callId)
      emit('tool.uncertain', { callId, toolName, input })
    }
  }

  function projectResolved(emit: EmitDurable, entry: EntryOf<'resolved'>): void {
    const wait = waits.get(entry.token)
    if (!wait) return
    waits.delete(entry.token)
    const callId = wait.callId ?? entry.token
    const toolName = names.get(callId) ?? ''
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
      if (wait.callId === undefined && pendingApproval) {
        if (decision === 'approve') answered(emit, pendingApproval)
        // The content of a denied answer is not published with the denial.
        else
          emitMessage(emit, { ...pendingApproval, content: [] }, state.run?.lastAttempt?.attempt, { discarded: true })
        pendingApproval = undefined
      }
    } else if (wait.kind === 'remote') {
      emit('tool.remote.resolved', { id: entry.token, token: entry.token, callId, toolName, by: entry.by })
    } else if (wait.kind === 'input') {
      emit('input.resolved', { id: entry.token, token: entry.token, callId, toolName, by: entry.by })
    }
  }

  function projectHandoff(emit: EmitDurable, entry: EntryOf<'handoff'>): void {
    const { from, to, mode, callId = '', denied, label = trustedLabel } = entry
    // It starts and ends with its call.
    if (mode === 'return' && denied === undefined) return void returnHandoffs.set(callId, entry)
    emit('handoff.start', { from, to, mode, callId })
    if (denied === undefined) {
      emit('handoff.end', { from, to, mode, callId, status: 'accepted', label })
      endTurn(emit)
    } else emit('handoff.end', { from, to, mode, callId, status: 'denied', reason: denied, label })
  }

  function projectRun(emit: EmitDurable, entry: Extract<Entry, { type: 'run' }>): void {
    switch (entry.op) {
      case 'started':
        inputs = []
        inFlight = new Map()
        turn = undefined
        stepOpen = false
        break
      case 'resumed':
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

/** Emits the end of a return handoff, with its call. */
function emitReturn(
  emit: EmitDurable,
  { from, to, mode, callId = '' }: EntryOf<'handoff'>,
  { outcome, error, label }: EntryOf<'call', 'settled'>,
): void {
  const status = error?.code === notReturned ? 'denied' : 'returned'
  const reason = outcome === 'ok' ? {} : { reason: error?.message ?? outcome }
  emit('handoff.end', { from, to, mode, callId, status, label, ...reason })
}

function settledEvent(emit: EmitDurable, entry: EntryOf<'call', 'settled'>, toolName: string): void {
  if (emit === muted) return
  const { callId, outcome, output, label, details, durationMs, via } = entry
  if (outcome === 'ok') {
    emit('tool.execute.end', {
      callId,
      toolName,
      output,
      label,
      durationMs,
      via,
      ...(details !== undefined && { details }),
    })
  } else if (outcome === 'skipped') emit('tool.skipped', { callId, toolName, reason: outputText(output) })
  else emit('tool.execute.error', { callId, toolName, error: errorOf(entry), durationMs })
}

function errorOf(entry: EntryOf<'call', 'settled'>): ErrorInfo {
  return entry.error ?? { code: `tool-${entry.outcome}`, message: outputText(entry.output) }
}

function outputText(output: ToolOutput): string {
  if (output.type === 'text' || output.type === 'error-text') return output.value
  if (output.type === 'execution-denied') return output.reason ?? ''
  return JSON.stringify(output.value)
}
