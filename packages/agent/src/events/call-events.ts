import type { EntryOf, ErrorInfo, ToolOutput } from '@provost/core'

import { notReturned } from '../messages/transferred-context.ts'
import { statusOf } from '../state/effect-status.ts'
import { callOf } from '../state/session-state.ts'
import type { EmitDurable } from '../types/log.ts'
import type { CallState, SessionState } from '../types/session-state.ts'
import { createBatchReport } from './batch-report.ts'
import { muted } from './muted.ts'

interface EndedCall {
  readonly entry: EntryOf<'call', 'settled'>
  readonly toolName: string
}

/** The events of the calls of a log: their starts, their ends in the order of the starts, and the reports of batches. */
export interface CallEvents {
  /** @param before the state of the call before the entry. */
  started(emit: EmitDurable, entry: EntryOf<'call', 'started'>, before: CallState | undefined): void
  settled(emit: EmitDurable, entry: EntryOf<'call', 'settled'>, before: CallState | undefined): void
  /** A call that waits or is parked does not delay the ends of the others. */
  left(emit: EmitDurable, callId: string): void
  /** A human is asked about a call, maybe in another batch than before. */
  asked(emit: EmitDurable, wait: EntryOf<'wait'>, toolName: string): void
  /** The calls of a resumed run that have not started are announced again. */
  resumed(): void
  clear(): void
  find(callId: string | undefined): CallState | undefined
  /** Returns the tool name of a call. A withheld answer withholds the names of its calls. */
  toolName(call: CallState | undefined): string
}

/** Creates the events of the calls of a log. */
export function createCallEvents(state: SessionState): CallEvents {
  /** Calls whose start was emitted, in this order, with what ends each: an end waits for the ends of earlier starts. */
  const inFlight = new Map<string, EndedCall | undefined>()
  /** Calls whose start event follows from the entry of another call. */
  const announced = new Set<string>()
  const batches = createBatchReport()

  function find(callId: string | undefined): CallState | undefined {
    return callId === undefined ? undefined : state.run && callOf(state.run, callId)
  }

  function toolName(call: CallState | undefined): string {
    return call && !state.hidden.has(state.messages.at(-1)?.id ?? '') ? call.part.toolName : ''
  }

  function startCall(emit: EmitDurable, callId: string): void {
    const begun = find(callId)
    const { parentCallId, args: input = null, effect } = begun ?? {}
    if (parentCallId === undefined) inFlight.set(callId, undefined)
    if (emit === muted) return
    emit('tool.execute.start', {
      callId,
      toolName: toolName(begun),
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

  return {
    started(emit, entry, before) {
      const { callId } = entry
      if (!announced.delete(callId)) startCall(emit, callId)
      for (const id of entry.announces ?? []) {
        announced.add(id)
        startCall(emit, id)
      }
      if (emit === muted) return
      const { starts, returnHandoff } = before ?? {}
      if (starts === 1 && returnHandoff) emit('handoff.start', { ...handoffTarget(returnHandoff.entry), callId })
    },
    settled(emit, entry, before) {
      const { callId } = entry
      const ended: EndedCall = { entry, toolName: toolName(before) }
      announced.delete(callId)
      if (before?.parentCallId !== undefined) return settledEvent(emit, ended)
      if (before?.returnHandoff) emitReturn(emit, before.returnHandoff.entry, entry)
      if (inFlight.has(callId)) inFlight.set(callId, ended)
      else endCall(emit, ended)
      endInOrder(emit)
    },
    left(emit, callId) {
      inFlight.delete(callId)
      endInOrder(emit)
    },
    asked(emit, wait, name) {
      const left = batches.asked(wait, name)
      if (left) emit('tool.batch.settled', left)
    },
    resumed: () => announced.clear(),
    clear() {
      inFlight.clear()
      announced.clear()
      batches.clear()
    },
    find,
    toolName,
  }
}

/** Returns where a handoff leads, for its events. */
export function handoffTarget({
  from,
  to,
  mode,
}: EntryOf<'handoff'>): Pick<EntryOf<'handoff'>, 'from' | 'to' | 'mode'> {
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
  emit('handoff.end', { ...handoffTarget(handoff), callId, status, label, ...reason })
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
