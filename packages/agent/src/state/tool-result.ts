import type { EntryOf, ToolResult } from '@provost/core'
import type { ToolOutcome } from '@provost/tools'

import { outputValue } from '../messages/output-value.ts'
import type { ResolvedAgent } from '../types/resolved-agent.ts'
import type { CallState } from '../types/session-state.ts'

/** Returns the result of a call, made from the outcome of its tool. */
export function resultFrom(
  agent: ResolvedAgent,
  call: CallState,
  made: Omit<ToolOutcome, 'durationMs' | 'outcome'> & Pick<ToolResult, 'outcome'>,
  via: ToolResult['via'],
): ToolResult {
  const { outcome, output, label, value, fields, details } = made
  return {
    callId: call.part.callId,
    ...(call.parentCallId !== undefined && { parentCallId: call.parentCallId }),
    tool: agent.info(call.part.toolName),
    input: call.args,
    outcome,
    via,
    output,
    label,
    ...(value !== undefined && { value }),
    ...(fields && { fields }),
    ...(details !== undefined && { details }),
  }
}

/** Returns the result of a call from its entry, so that it is the same live and after a crash. */
export function resultOfEntry(agent: ResolvedAgent, call: CallState, entry: EntryOf<'call', 'settled'>): ToolResult {
  const { part, args, parentCallId } = call
  const { outcome, via, output, label, fields, details, error } = entry
  const value = entry.value ?? (outcome === 'ok' ? outputValue(output) : undefined)
  return {
    callId: part.callId,
    ...(parentCallId !== undefined && { parentCallId }),
    tool: agent.info(part.toolName),
    input: args,
    outcome,
    via,
    ...(value !== undefined && { value }),
    output,
    label,
    ...(fields && { fields }),
    ...(details !== undefined && { details }),
    ...(error && { error }),
  }
}
