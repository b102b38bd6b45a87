import type { MaybePromise, ToolResult } from '@provost/core'
import { fillLabel, isRecord } from '@provost/core'

import { stopped } from '../control/run-ending.ts'
import { invalidAnswer, runHooks } from '../hooks/run-hooks.ts'
import { labelOfResult } from '../messages/result-label.ts'
import { byteCount } from '../state/byte-count.ts'
import { reasonResult } from '../state/tool-result.ts'
import type { RunContext } from '../types/run-context.ts'
import type { RunEnding } from '../types/run-ending.ts'

/** A result after the hooks. With `end` the run ends once the result is recorded. */
export interface HookedResult {
  readonly result: ToolResult
  readonly end?: RunEnding
  /** The result says nothing of the call. */
  readonly isWithheld?: true
}

/** Passes a result through the `tool.result` hooks. A withheld result tells the model the reason. */
export function throughResultHooks(ctx: RunContext, first: ToolResult): MaybePromise<HookedResult> {
  // Check the size first: hooks must not process an oversized result.
  const over = byteLimitEnding(ctx, first)
  if (over)
    return { result: withheld(first, 'The result was withheld: it exceeds the byte limits of the run.'), end: over }
  const unchanged: HookedResult = { result: first }
  if (ctx.agent.hooks['tool.result'].length === 0) return unchanged
  return runHooks(ctx, 'tool.result', unchanged, {
    bytes: ({ result }) => byteCount(result.output),
    shown: ({ result }) => labelOfResult(result),
    call: (hook, hookContext, { result }) => hook(result, hookContext),
    answered(answer, { result, ...before }, by) {
      if ('stop' in answer) return { result: withheld(result, 'The run was stopped.'), end: stopped(answer, by) }
      if (!isRecord(answer.output)) throw invalidAnswer(by, 'tool.result')
      return {
        ...before,
        result: { ...boundToCall(first, withoutStale(answer, result)), label: fillLabel(answer.label, result.label) },
      }
    },
    ends: ({ end }) => end !== undefined,
    failed: ({ result }) => ({
      result: withheld(result, 'The result was withheld: a check failed.'),
      isWithheld: true,
    }),
  })
}

/** Returns the ending of the run where a result exceeds its byte limits. */
function byteLimitEnding(ctx: RunContext, { output, value, details }: ToolResult): RunEnding | undefined {
  let bytes = byteCount(output)
  if (value !== undefined) bytes += byteCount(value)
  if (details !== undefined) bytes += byteCount(details)
  return ctx.tree.meter.refusal({ host: bytes, log: bytes })
}

/** Drops the value where a hook changed only the output: a composite must not receive the unchanged value. */
function withoutStale(answer: ToolResult, before: ToolResult): ToolResult {
  if (answer.output === before.output || answer.value !== before.value) return answer
  const { value: _, ...rest } = answer
  return rest
}

/** Binds a hook's result to its call: a hook cannot change the ids. */
function boundToCall({ callId, parentCallId }: ToolResult, answer: ToolResult): ToolResult {
  const { parentCallId: _, ...rest } = answer
  return { ...rest, callId, ...(parentCallId !== undefined && { parentCallId }) }
}

function withheld(result: ToolResult, reason: string): ToolResult {
  return reasonResult(result, 'error', reason, result.via)
}
