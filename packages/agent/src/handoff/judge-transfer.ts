import type { Ask, Flow, HookContext, Message, ToolCall } from '@provost/core'
import { joinLabels, labelOf, toErrorInfo } from '@provost/core'

import { knowing } from '../hook-context.ts'
import { inHookTime } from '../hook-time.ts'
import type { Crossed } from '../loop-asks.ts'
import { messageOf } from '../message-init.ts'
import { checkAsks } from '../question/unexpected-ask.ts'
import { heedAbort, report } from '../run-scope.ts'
import type { RunScope } from '../run-scope.ts'
import { applyFilter } from './apply-filter.ts'
import { crossingAt, handoffsOfRun, mostHandoffs, noteTo } from './handoff-entry.ts'
import type { Handoff } from './handoff.ts'
import { writeSummaries } from './summary.ts'

/** What the `handoff` hooks said of what is about to cross. */
export interface FlowOpinion {
  readonly asks: readonly { readonly by: string; readonly ask: Ask }[]
  readonly deny?: { readonly by: string; readonly reason: string; readonly code?: string }
  readonly crossing?: Crossed
}

/**
 * Filters what is to cross, and lets the `handoff` hooks see it, each what those before it left. A hook that throws
 * refuses the handoff, and so does a filter that lets nothing across.
 */
export async function judgeTransfer(
  scope: RunScope,
  call: ToolCall,
  handoff: Handoff,
  approval: HookContext['approval'],
): Promise<FlowOpinion> {
  const asks: { by: string; ask: Ask }[] = []
  const before = (scope.lineage?.handoffs() ?? 0) + (scope.state.run ? handoffsOfRun(scope.state.run) : 0)
  if (before >= mostHandoffs) {
    const reason = `There were ${mostHandoffs} handoffs without an end. Answer without another.`
    return { asks, deny: { by: 'handoffs', reason, code: 'too-many-handoffs' } }
  }
  let crossed: Crossed
  let flow: Flow
  try {
    const all = (): readonly Message[] => crossingAt(scope.state, scope.plan, { filter: { kind: 'full' } }).messages
    crossed = { filter: await writeSummaries(scope, `handoff/${call.callId}/summary`, handoff.filter, all) }
    flow = flowOf(scope, call, handoff, crossed)
  } catch (thrown) {
    heedAbort(scope)
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
      return { asks, deny: { by, reason: `${by} could not judge this handoff.` } }
    }
  }
  return { asks, crossing: crossed }
}

/** What hooks see: all that the target would get, the caller's own words included. */
function flowOf({ state, plan }: RunScope, call: ToolCall, handoff: Handoff, crossed: Crossed): Flow {
  const { messages, label } = crossingAt(state, plan, crossed)
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
