import type { EntryOf, Json, ToolCall, ToolResult } from '@provost/core'

import { outputValue } from '../messages/output-value.ts'

type Made = Pick<ToolResult, 'outcome' | 'output' | 'label' | 'fields' | 'details'> & {
  readonly value?: Json | undefined
}

/** Returns the result of a call, made from the outcome of its tool or from what its entry recorded. */
export function toolResult(call: ToolCall, made: Made, via: ToolResult['via']): ToolResult {
  const { callId, parentCallId, tool, input } = call
  const { outcome, output, label, value, fields, details } = made
  return {
    callId,
    ...(parentCallId !== undefined && { parentCallId }),
    tool,
    input,
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
export function recordedResult(call: ToolCall, entry: EntryOf<'call', 'settled'>): ToolResult {
  const { outcome, output, error, via } = entry
  const value = entry.value ?? (outcome === 'ok' ? outputValue(output) : undefined)
  return { ...toolResult(call, { ...entry, value }, via), ...(error && { error }) }
}
