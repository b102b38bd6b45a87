import type { Flow, HookContext, Message, ToolCall } from '@provost/core'
import { joinLabels, labelOf, toErrorInfo } from '@provost/core'

import { stopIfAborted } from '../control/run-ending.ts'
import type { Handoff } from '../types/agent.ts'
import type { TransferResult } from '../types/loop.ts'
import type { RunContext } from '../types/run-context.ts'
import { checkTransfer } from './active-agent.ts'
import type { FlowAuthorization } from './flow-hooks.ts'
import { authorizeFlow } from './flow-hooks.ts'
import { handoffsOfRun, mostHandoffs, noteTo, transferredContextAt } from './handoff-entry.ts'
import { writeSummaries } from './summary.ts'

/** Whether a handoff may take place, and what it transfers. */
export interface TransferAuthorization extends Pick<FlowAuthorization, 'asks'> {
  readonly deny?: { readonly by: string; readonly reason: string; readonly code?: string }
  readonly crossing?: TransferResult
}

/**
 * Filters the context of a handoff and passes it through the `handoff` hooks. A filter that keeps no messages denies the
 * handoff.
 */
export async function authorizeTransfer(
  ctx: RunContext,
  call: ToolCall,
  handoff: Handoff,
  approval: HookContext['approval'],
): Promise<TransferAuthorization> {
  const before = (ctx.parentRun?.handoffs() ?? 0) + (ctx.state.run ? handoffsOfRun(ctx.state.run) : 0)
  if (before >= mostHandoffs) {
    const reason = `There were ${mostHandoffs} handoffs without an end. Answer without another.`
    return { asks: [], deny: { by: 'handoffs', reason, code: 'too-many-handoffs' } }
  }
  checkTransfer(ctx.entryAgent, ctx.state, handoff.to)
  let crossed: TransferResult
  let flow: Flow
  try {
    const all = (): readonly Message[] =>
      transferredContextAt(ctx.state, ctx.agent, { filter: { kind: 'full' } }).messages
    crossed = { filter: await writeSummaries(ctx, `handoff/${call.callId}/summary`, handoff.filter, all) }
    flow = flowOf(ctx, call, handoff, crossed)
  } catch (thrown) {
    stopIfAborted(ctx)
    const { code, message } = toErrorInfo(thrown)
    return { asks: [], deny: { by: 'filter', reason: message, code } }
  }
  const { filter } = crossed
  const checked = await authorizeFlow(ctx, flow, `${call.callId}/payload`, approval, (messages) =>
    flowOf(ctx, call, handoff, { filter, with: messages }),
  )
  if (checked.deny) return { asks: checked.asks, deny: checked.deny }
  return { asks: checked.asks, crossing: checked.with ? { filter, with: checked.with } : crossed }
}

/** Returns the flow that hooks check: everything that the target would receive, the caller's note included. */
function flowOf({ state, agent }: RunContext, call: ToolCall, handoff: Handoff, crossed: TransferResult): Flow {
  const { messages, label } = transferredContextAt(state, agent, crossed)
  const note = noteTo(state.clock, handoff, state.agent, { ...call, args: call.input }, crossed.with !== undefined)
  return {
    kind: 'transfer',
    from: state.agent,
    to: handoff.to,
    payload: [...messages, note],
    label: joinLabels(label, labelOf(note)),
    callId: call.callId,
  }
}
