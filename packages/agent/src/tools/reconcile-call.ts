import type { NewEntry, Tool } from '@provost/core'
import { effectEnd } from '@provost/sessions'
import { resultOf } from '@provost/tools'

import { report } from '../control/report.ts'
import { claimedKey } from '../effects/claimed-key.ts'
import { lookUp } from '../effects/lookup.ts'
import { foundEntry, keepsValue, notDoneEntry, settledEntry } from '../entries/call-entries.ts'
import { statusOf } from '../state/effect-status.ts'
import { toolCall } from '../state/tool-call.ts'
import { toolResult } from '../state/tool-result.ts'
import type { RunContext } from '../types/run-context.ts'
import type { RunEnding } from '../types/run-ending.ts'
import type { CallState } from '../types/session-state.ts'
import { throughResultHooks } from './result-hooks.ts'

/**
 * Looks up the outcome of calls during which a process died, where the tool has a `lookup`. Calls that took no effect may
 * run again. Calls with an unknown outcome stay as they are, and the machine makes them uncertain.
 */
export async function reconcileCalls(ctx: RunContext, calls: readonly CallState[]): Promise<void> {
  const asked = calls.flatMap((call) => {
    const tool = ctx.agent.tools.get(call.part.toolName)
    return tool?.['~tool'].lookup ? [{ call, tool }] : []
  })
  const answers = await Promise.all(asked.map(({ call, tool }) => entriesFor(ctx, call, tool)))
  for (const { entries, end } of answers) {
    if (entries.length > 0) await ctx.logWriter.append(entries)
    if (end) throw end
  }
}

interface ReconcileResult {
  readonly entries: readonly NewEntry[]
  readonly end?: RunEnding | undefined
}

async function entriesFor(ctx: RunContext, call: CallState, tool: Tool): Promise<ReconcileResult> {
  const { state } = ctx
  try {
    const found = await lookUp(ctx, call, tool, await claimedKey(ctx, call, tool))
    if (!found) return { entries: [notDoneEntry(state, call)] }
    const outcome = await resultOf(tool, found.output, call.args)
    const { result, end } = await throughResultHooks(ctx, toolResult(toolCall(ctx.agent, call), outcome, 'executed'))
    const error = result.output === outcome.output ? outcome.error : undefined
    const effectStatus = call.effect && statusOf(call.effect, effectEnd(outcome), 'lookup')
    const settled = settledEntry(state, call, result, { error, effectStatus, keepsValue: keepsValue(tool) })
    return { entries: [foundEntry(state, call), settled], end }
  } catch (thrown) {
    if (!ctx.signal.aborted) report(ctx, thrown, { kind: 'tool', name: tool.name })
    return { entries: [] }
  }
}
