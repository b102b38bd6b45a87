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

/** The result that an outcome comes to. */
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

/** Every result passes the `tool.result` hooks. One that throws withholds it: the model is told that it may not see it. */
export async function throughResultHooks(
  scope: RunContext,
  first: ToolResult,
): Promise<{ readonly result: ToolResult; readonly end: RunEnding | undefined }> {
  // What is too much is not even looked at.
  const over = beyondBytes(scope, first)
  if (over)
    return { result: withheld(first, 'The result was withheld: it is larger than the run may take.'), end: over }
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
      result = withheld(result, 'The result was withheld: it could not be checked.')
    }
  }
  return { result, end: undefined }
}

/** The ending of a run that has no room for a result. */
export function beyondBytes(scope: RunContext, { output, value, details }: ToolResult): RunEnding | undefined {
  const bytes = byteCount(output) + byteCount(value) + byteCount(details)
  return scope.tree.meter.refusal({ host: bytes, log: bytes })
}

/** Where a hook has changed the output and not the value, the value is what it has changed: a composite does not get it. */
function withoutStale(answer: ToolResult, before: ToolResult): ToolResult {
  if (answer.output === before.output || answer.value !== before.value) return answer
  const { value: _, ...rest } = answer
  return rest
}

/** What a hook gives is the result of its own call, whatever that says of itself. */
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
