import type { Tool } from '@provost/core'
import { ProvostError, longestTimerMs } from '@provost/core'
import type { ParsedInput } from '@provost/tools'
import { declaredSecrets, parseInput, restoredInput } from '@provost/tools'

import type { RunContext } from '../types/run-context.ts'
import { RunEnding } from '../types/run-ending.ts'
import type { CallState } from '../types/session-state.ts'

/**
 * Asks the `lookup` of a tool whether an effect took place.
 *
 * @returns the result of the effect; undefined if it did not take place.
 * @throws whatever the lookup throws, and ProvostError `tool-timeout`: the outcome stays unknown.
 */
export async function lookUp(
  ctx: RunContext,
  call: CallState,
  tool: Tool,
  idempotencyKey: string,
): Promise<{ readonly output: unknown } | undefined> {
  const { timeoutMs, lookup } = tool['~tool']
  const parsed = await inputOf(ctx, call, tool)
  if (!parsed.ok) throw new ProvostError(parsed.error.code, parsed.error.message)
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(
    () => {
      late.reject(
        new ProvostError('tool-timeout', `The lookup of ${tool.name} did not answer within ${timeoutMs} ms.`, {
          hint: 'Decide the outcome of the call with `uncertain`.',
        }),
      )
    },
    Math.min(timeoutMs, longestTimerMs),
  )
  const aborted = (): void => late.reject(new RunEnding('aborted'))
  ctx.signal.addEventListener('abort', aborted, { once: true })
  try {
    return await Promise.race([late.promise, lookup?.(idempotencyKey, parsed.value)])
  } finally {
    clearTimeout(timer)
    ctx.signal.removeEventListener('abort', aborted)
  }
}

/** Returns the input with its secrets restored: a lookup by secret tokens would search for other values. */
async function inputOf({ secrets }: RunContext, { args }: CallState, tool: Tool): Promise<ParsedInput> {
  const values = await declaredSecrets(tool, secrets)
  return (values && (await restoredInput(tool, args, secrets, values))) ?? parseInput(tool, args)
}
