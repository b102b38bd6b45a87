import type { Ask, Flow, HookContext, Message, ToolCall } from '@provost/core'
import { joinLabels, labelOf, toErrorInfo } from '@provost/core'

import { report } from '../control/report.ts'
import { stopIfAborted } from '../control/run-ending.ts'
import { knowing } from '../hooks/hook-context.ts'
import { inHookTime } from '../hooks/hook-time.ts'
import { applyFilter } from '../messages/apply-filter.ts'
import { messageOf } from '../messages/message.ts'
import { checkAsks } from '../question/unexpected-ask.ts'
import type { Handoff } from '../types/agent.ts'
import type { TransferResult } from '../types/loop.ts'
import type { RunContext } from '../types/run-context.ts'
import { handoffsOfRun, mostHandoffs, noteTo, transferredContextAt } from './handoff-entry.ts'
import { writeSummaries } from './summary.ts'

/** The combined answers of the `handoff` hooks about a handoff. */
export interface FlowAnswerRead {
  readonly asks: readonly { readonly by: string; readonly ask: Ask }[]
  readonly deny?: { readonly by: string; readonly reason: string; readonly code?: string }
  readonly crossing?: TransferResult
}

/**
 * Filters the context of a handoff and passes it through the `handoff` hooks. Each hook receives the previous hook's payload.
 * A hook that throws denies the handoff; so does a filter that keeps no messages.
 */
export async function authorizeTransfer(
  scope: RunContext,
  call: ToolCall,
  handoff: Handoff,
  approval: HookContext['approval'],
): Promise<FlowAnswerRead> {
  const asks: { by: string; ask: Ask }[] = []
  const before = (scope.lineage?.handoffs() ?? 0) + (scope.state.run ? handoffsOfRun(scope.state.run) : 0)
  if (before >= mostHandoffs) {
    const reason = `There were ${mostHandoffs} handoffs without an end. Answer without another.`
    return { asks, deny: { by: 'handoffs', reason, code: 'too-many-handoffs' } }
  }
  let crossed: TransferResult
  let flow: Flow
  try {
    const all = (): readonly Message[] =>
      transferredContextAt(scope.state, scope.plan, { filter: { kind: 'full' } }).messages
    crossed = { filter: await writeSummaries(scope, `handoff/${call.callId}/summary`, handoff.filter, all) }
    flow = flowOf(scope, call, handoff, crossed)
  } catch (thrown) {
    stopIfAborted(scope)
    const { code, message } = toErrorInfo(thrown)
    return { asks, deny: { by: 'filter', reason: message, code } }
  }
  for (const { extension, hook } of scope.plan.hooks.handoff) {
    const by = extension.name
    try {
      const answer = await inHookTime(
        scope,
        extension,
        'handoff',
        hook(flow, knowing(scope, extension, flow.label, approval)),
      )
      if (!answer) continue
      if ('deny' in answer) return { asks, deny: { by, reason: answer.deny } }
      if ('ask' in answer) {
        checkAsks(extension)
        asks.push({ by, ask: answer.ask })
      } else {
        const { label } = flow
        const messages = answer.payload.map((init, index) =>
          messageOf(init, `${call.callId}/payload/${index}`, label, handoff.to),
        )
        crossed = { filter: crossed.filter, with: applyFilter({ kind: 'full' }, messages) }
        flow = flowOf(scope, call, handoff, crossed)
      }
    } catch (thrown) {
      report(scope, thrown, { kind: 'hook', name: by })
      return { asks, deny: { by, reason: `${by} failed to check this handoff.` } }
    }
  }
  return { asks, crossing: crossed }
}

/** Returns the flow that hooks check: everything that the target would receive, the caller's note included. */
function flowOf({ state, plan }: RunContext, call: ToolCall, handoff: Handoff, crossed: TransferResult): Flow {
  const { messages, label } = transferredContextAt(state, plan, crossed)
  const note = noteTo(handoff, state.agent, { ...call, args: call.input }, crossed.with !== undefined)
  return {
    kind: 'transfer',
    from: state.agent,
    to: handoff.to,
    payload: [...messages, note],
    label: joinLabels(label, labelOf(note)),
    callId: call.callId,
  }
}
