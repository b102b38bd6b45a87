import type { NewEntry, Tool } from '@provost/core'
import { ProvostError } from '@provost/core'
import type { ParsedInput } from '@provost/tools'
import { declaredSecrets, parseInput, restoredInput, resultOf } from '@provost/tools'

import { report } from '../control/report.ts'
import { stopIfAborted } from '../control/run-ending.ts'
import { foundEntry, notDoneEntry, settledEntry } from '../entries/call-entries.ts'
import { callsAt } from '../state/next-action.ts'
import { timerMs } from '../state/wait-deadlines.ts'
import type { RunContext } from '../types/run-context.ts'
import { RunEnding } from '../types/run-ending.ts'
import type { CallState } from '../types/session-state.ts'
import { mayRepeat } from './execution-mode.ts'
import { idempotencyKeyOf } from './idempotency-key.ts'
import { resultFrom, throughResultHooks } from './result-hooks.ts'

/**
 * Looks up the outcome of calls during which a process died, where the tool has a `lookup`. Calls that took no effect run
 * again. Calls with an unknown outcome stay as they are, and the loop makes them uncertain.
 */
export async function reconcileCalls(ctx: RunContext): Promise<void> {
  const { state, agent, logWriter } = ctx
  const started = state.run ? callsAt(state.run, 'started') : []
  const asked = started.flatMap((call) => {
    const tool = agent.tools.get(call.part.toolName)
    return tool?.['~tool'].lookup && !mayRepeat(tool) ? [{ call, tool }] : []
  })
  const answers = await Promise.all(asked.map(({ call, tool }) => entriesFor(ctx, call, tool)))
  stopIfAborted(ctx)
  for (const { entries, end } of answers) {
    if (entries.length > 0) await logWriter.append(entries)
    if (end) throw end
  }
}

/**
 * Looks up the outcome of one call of a composite.
 *
 * @returns false where the outcome stays unknown: the call is then uncertain.
 */
export async function reconcileCall(ctx: RunContext, call: CallState): Promise<boolean> {
  const tool = ctx.agent.tools.get(call.part.toolName)
  if (!tool?.['~tool'].lookup) return false
  const { entries, end } = await entriesFor(ctx, call, tool)
  await ctx.logWriter.append(entries)
  if (end) throw end
  return entries.length > 0
}

interface ReconcileResult {
  readonly entries: readonly NewEntry[]
  readonly end?: RunEnding | undefined
}

async function entriesFor(ctx: RunContext, call: CallState, tool: Tool): Promise<ReconcileResult> {
  const { state } = ctx
  try {
    const found = await lookUp(ctx, call, tool)
    if (!found) return { entries: [notDoneEntry(state, call)] }
    const outcome = await resultOf(tool, found.output, call.args)
    const { result, end } = await throughResultHooks(ctx, resultFrom(ctx, call, outcome, 'executed'))
    const error = result.output === outcome.output ? outcome.error : undefined
    return { entries: [foundEntry(state, call), settledEntry(state, call, result, { error })], end }
  } catch (thrown) {
    if (!ctx.signal.aborted) report(ctx, thrown, { kind: 'tool', name: tool.name })
    return { entries: [] }
  }
}

/** Returns the input with its secrets restored: a lookup by secret tokens would search for other values. */
async function inputOf({ secrets }: RunContext, { args }: CallState, tool: Tool): Promise<ParsedInput> {
  const values = await declaredSecrets(tool, secrets)
  return (values && (await restoredInput(tool, args, secrets, values))) ?? parseInput(tool, args)
}

async function lookUp(ctx: RunContext, call: CallState, tool: Tool): Promise<{ readonly output: unknown } | undefined> {
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
    timerMs(Date.now() + timeoutMs),
  )
  const aborted = (): void => late.reject(new RunEnding('aborted'))
  ctx.signal.addEventListener('abort', aborted, { once: true })
  try {
    return await Promise.race([late.promise, lookup?.(idempotencyKeyOf(ctx.id, call.part.callId), parsed.value)])
  } finally {
    clearTimeout(timer)
    ctx.signal.removeEventListener('abort', aborted)
  }
}
