import type { ToolResult } from '@provost/core'
import { fillLabel, isPromise, trustedLabel } from '@provost/core'
import type { ToolOutcome } from '@provost/tools'

import { giveWay } from '../control/paced-work.ts'
import { report } from '../control/report.ts'
import { stopped } from '../control/run-ending.ts'
import { knowing } from '../hooks/hook-context.ts'
import { inHookTime } from '../hooks/hook-time.ts'
import { labelOfResult } from '../messages/result-label.ts'
import { byteCount } from '../state/byte-count.ts'
import type { RunContext } from '../types/run-context.ts'
import type { RunEnding } from '../types/run-ending.ts'
import type { CallState } from '../types/session-state.ts'

/** Makes the result of a call from the outcome of its tool. */
export function resultFrom(scope: RunContext, call: CallState, made: ToolOutcome, via: ToolResult['via']): ToolResult {
  const { outcome, output, label, value, fields, details } = made
  return {
    callId: call.part.callId,
    ...(call.parentCallId !== undefined && { parentCallId: call.parentCallId }),
    tool: scope.plan.info(call.part.toolName),
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

/** Passes a result through the `tool.result` hooks. A hook that throws withholds the result; the model receives the reason. */
export async function throughResultHooks(
  scope: RunContext,
  first: ToolResult,
): Promise<{ readonly result: ToolResult; readonly end: RunEnding | undefined }> {
  // Check the size first: hooks must not process an oversized result.
  const over = beyondBytes(scope, first)
  if (over)
    return { result: withheld(first, 'The result was withheld: it exceeds the byte limits of the run.'), end: over }
  let result = first
  for (const { extension, hook } of scope.plan.hooks['tool.result']) {
    try {
      const others = giveWay(byteCount(result.output))
      if (others) await others
      const ctx = knowing(scope, extension, labelOfResult(result))
      const given = inHookTime(scope, extension, 'tool.result', hook(result, ctx))
      const answer = isPromise(given) ? await given : given
      if (!answer) continue
      if ('stop' in answer) return { result: withheld(result, 'The run was stopped.'), end: stopped(answer) }
      result = { ...ofCall(first, withoutStale(answer, result)), label: fillLabel(answer.label, result.label) }
    } catch (thrown) {
      report(scope, thrown, { kind: 'hook', name: extension.name })
      result = withheld(result, 'The result was withheld: a check failed.')
    }
  }
  return { result, end: undefined }
}

/** Returns the ending of the run where a result exceeds its byte limits. */
export function beyondBytes(scope: RunContext, { output, value, details }: ToolResult): RunEnding | undefined {
  const bytes = byteCount(output) + byteCount(value) + byteCount(details)
  return scope.tree.meter.refusal({ host: bytes, log: bytes })
}

/** Drops the value where a hook changed only the output: a composite must not receive the unchanged value. */
function withoutStale(answer: ToolResult, before: ToolResult): ToolResult {
  if (answer.output === before.output || answer.value !== before.value) return answer
  const { value: _, ...rest } = answer
  return rest
}

/** Binds a hook's result to its call: a hook cannot change the ids. */
function ofCall({ callId, parentCallId }: ToolResult, answer: ToolResult): ToolResult {
  const { parentCallId: _, ...rest } = answer
  return { ...rest, callId, ...(parentCallId !== undefined && { parentCallId }) }
}

function withheld(result: ToolResult, reason: string): ToolResult {
  const { tool, input, via } = result
  return ofCall(result, {
    callId: result.callId,
    tool,
    input,
    via,
    outcome: 'error',
    output: { type: 'error-text', value: reason },
    label: trustedLabel,
  })
}
