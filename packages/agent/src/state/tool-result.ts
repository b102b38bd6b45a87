import type { EntryOf, Json, Label, ToolCall, ToolResult } from '@provost/core'
import { trustedLabel } from '@provost/core'

import { outputValue } from '../messages/output-value.ts'

/** The call of a result. */
type Called = Pick<ToolCall, 'callId' | 'parentCallId' | 'tool' | 'input'>

type Made = Pick<ToolResult, 'outcome' | 'output' | 'label' | 'fields' | 'details'> & {
  readonly value?: Json | undefined
}

/** Returns the result of a call, made from the outcome of its tool or from what its entry recorded. */
export function toolResult(call: Called, made: Made, via: ToolResult['via']): ToolResult {
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
export function recordedResult(call: Called, entry: EntryOf<'call', 'settled'>): ToolResult {
  const { outcome, output, error, via } = entry
  const value = entry.value ?? (outcome === 'ok' ? outputValue(output) : undefined)
  return { ...toolResult(call, { ...entry, value }, via), ...(error && { error }) }
}

/** Returns a result that only tells the model a reason: the call did not run, or its result is withheld. */
export function reasonResult(
  call: Called,
  outcome: 'error' | 'skipped',
  reason: string,
  via: ToolResult['via'] = 'log',
  label: Label = trustedLabel,
): ToolResult {
  return toolResult(call, { outcome, output: { type: 'error-text', value: reason }, label }, via)
}
