import type { CompositeContext, Label, RunResult } from '@provost/core'
import { positionId, textOf, toJson, untrustedLabel } from '@provost/core'

import type { ReturnHandoff } from '../definition/handoff.ts'
import { targetOf } from '../definition/handoff.ts'
import { messageOf } from '../messages/message.ts'
import { hashMessages } from '../messages/transferred-context.ts'
import { unfinished } from '../result/child-error.ts'
import type { Handoff } from '../types/agent.ts'
import type { RunContext } from '../types/run-context.ts'
import type { CallState } from '../types/session-state.ts'
import { authorizeFlow, isApproved, recordedAuthorization, refusedAnswer } from './flow-hooks.ts'
import { noteTo } from './handoff-entry.ts'

const key = 'run'

/** Returns the work of a return handoff: the target runs on the transferred context, and hooks check its answer. */
export function returnHandoffOf(ctx: RunContext, call: CallState): ReturnHandoff | undefined {
  const handoff = ctx.agent.handoffs.get(call.part.toolName)
  const { returnHandoff } = call
  if (!handoff || !returnHandoff) return undefined
  const { entry, messages } = returnHandoff
  const { callId } = call.part
  return async (compositeContext) => {
    const note = noteTo(
      ctx.state.clock,
      handoff,
      entry.from,
      { callId, args: call.args, label: call.label },
      entry.with !== undefined,
    )
    // The timestamp of the entry makes the input the same on every resume.
    const input = [...messages, { ...note, createdAt: entry.at }]
    const result = await compositeContext.spawn(targetOf(handoff), input, { key })
    if (result.status !== 'completed') throw unfinished(handoff.to, result)
    return judgeReturn(ctx, call, handoff, result, compositeContext)
  }
}

/** Passes the answer of the target through the `handoff` hooks. */
async function judgeReturn(
  ctx: RunContext,
  call: CallState,
  handoff: Handoff,
  result: RunResult<unknown>,
  compositeContext: CompositeContext,
): Promise<unknown> {
  const { callId } = call.part
  const output = toJson(result.output)
  const label = labelOfChild(ctx, callId, handoff.to)
  const answer = messageOf(
    { role: 'assistant', content: typeof output === 'string' ? output : JSON.stringify(output) },
    ctx.state.clock,
    positionId(ctx.id, ctx.step, 'message', `${callId}/return`),
    label,
    handoff.to,
  )
  const flow = { kind: 'return', from: handoff.to, to: ctx.state.agent, payload: [answer], callId, label } as const
  const authorization = await authorizeFlow(ctx, flow, `${callId}/return`)
  const { denied, with: rewritten, ask } = recordedAuthorization(authorization)
  if (denied) throw refusedAnswer(handoff.to, denied.message)
  // The token depends on the shown messages: hooks run again on a resume and may answer differently.
  const token = `return ${hashMessages(rewritten ?? flow.payload).slice(0, 32)}`
  if (ask && !(await isApproved(ask, `The answer of ${handoff.to}`, (about) => compositeContext.wait(token, about)))) {
    throw refusedAnswer(handoff.to, 'It was not approved.')
  }
  return rewritten ? rewritten.map((message) => textOf(message)).join('\n\n') : result.output
}

/** Returns the label of everything that the target has read, from its log. */
function labelOfChild({ state }: RunContext, callId: string, agent: string): Label {
  return state.run?.children.get(`${callId}/${key}`)?.completion?.label ?? untrustedLabel(agent)
}
