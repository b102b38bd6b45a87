import type { Ask, CompositeContext, Flow, Json, Label, Message, MessageInit, RunResult } from '@provost/core'
import { isRecord, joinLabels, labelOf, positionId, ProvostError, textOf, toJson, untrustedLabel } from '@provost/core'

import { knowing } from '../hook-context.ts'
import { joinAsks } from '../join-asks.ts'
import type { CallState } from '../log-state.ts'
import { messageOf } from '../message-init.ts'
import { report } from '../run-scope.ts'
import type { RunScope } from '../run-scope.ts'
import { unfinished } from '../unfinished.ts'
import { hashMessages, notReturned } from './crossing.ts'
import { noteTo } from './handoff-entry.ts'
import type { Errand, Handoff } from './handoff.ts'
import { targetOf } from './handoff.ts'

const key = 'run'

/** What the tool of a handoff that comes back does: the target runs on what crossed, and what it says is judged. */
export function errandOf(scope: RunScope, call: CallState): Errand | undefined {
  const handoff = scope.plan.handoffs.get(call.part.toolName)
  const { errand } = call
  if (!handoff || !errand) return undefined
  const { entry, messages } = errand
  const { callId } = call.part
  return async (ctx) => {
    const note = noteTo(handoff, entry.from, { callId, args: call.args, label: call.label }, entry.with !== undefined)
    // The same whenever it is entered again.
    const input = [...messages, { ...note, createdAt: entry.at }]
    const result = await ctx.spawn(targetOf(handoff), input, { key })
    if (result.status !== 'completed') throw unfinished(handoff.to, result)
    return judgeReturn(scope, call, handoff, result, ctx)
  }
}

/** What comes back passes the `handoff` hooks, each on what those before it left. One that throws refuses it. */
async function judgeReturn(
  scope: RunScope,
  call: CallState,
  handoff: Handoff,
  result: RunResult<unknown>,
  ctx: CompositeContext,
): Promise<unknown> {
  const { callId } = call.part
  const output = toJson(result.output)
  const label = labelOfChild(scope, callId, handoff.to)
  const answer = messageOf(
    { role: 'assistant', content: typeof output === 'string' ? output : JSON.stringify(output) },
    positionId(scope.id, scope.step, 'message', `${callId}/return`),
    label,
    handoff.to,
  )
  let payload: readonly Message[] = [answer]
  const asks: Ask[] = []
  for (const { extension, hook } of scope.plan.hooks.handoff) {
    const flow: Flow = {
      kind: 'return',
      from: handoff.to,
      to: scope.state.agent,
      payload,
      label: joined(payload),
      callId,
    }
    const said = await heard(scope, extension.name, async () => hook(flow, knowing(scope, extension, flow.label)))
    if (!said) continue
    if ('deny' in said) throw refused(handoff, said.deny)
    if ('ask' in said) asks.push(said.ask)
    else payload = rewritten(said.payload, callId, label, handoff)
  }
  if (asks.length > 0) await approved(handoff, joinAsks(asks), payload, ctx)
  return payload[0] === answer ? result.output : payload.map((message) => textOf(message)).join('\n\n')
}

async function heard<T>(scope: RunScope, by: string, ask: () => Promise<T>): Promise<T | { readonly deny: string }> {
  try {
    return await ask()
  } catch (thrown) {
    report(scope, thrown, { kind: 'hook', name: by })
    return { deny: `${by} could not judge what came back.` }
  }
}

function rewritten(
  messages: readonly MessageInit[],
  callId: string,
  label: Label,
  { to }: Handoff,
): readonly Message[] {
  return messages.map((init, index) => messageOf(init, `${callId}/return/${index}`, label, to))
}

function joined(messages: readonly Message[]): Label {
  return joinLabels(...messages.map(labelOf))
}

/** All that the target has seen: what its log says of itself. */
function labelOfChild({ state }: RunScope, callId: string, agent: string): Label {
  return state.run?.children.get(`${callId}/${key}`)?.joined?.label ?? untrustedLabel(agent)
}

/** A human is asked in the middle of the call; the token names what was shown, so that an answer is for nothing else. */
async function approved({ to }: Handoff, ask: Ask, payload: readonly Message[], ctx: CompositeContext): Promise<void> {
  const answer = await ctx.wait(`return ${hashMessages(payload).slice(0, 32)}`, {
    message: `What ${to} answered needs approval: ${ask.reason}`,
    schema: { type: 'object', properties: { decision: { enum: ['approve', 'deny'] } }, required: ['decision'] },
    ...(ask.expiresInMs !== undefined && { withinMs: ask.expiresInMs }),
  })
  if (!isApproval(answer)) throw refused({ to }, 'It was not approved.')
}

function isApproval(answer: Json): boolean {
  return isRecord(answer) && answer['decision'] === 'approve'
}

function refused({ to }: Pick<Handoff, 'to'>, reason: string): ProvostError {
  return new ProvostError(notReturned, `What ${to} answered does not come back: ${reason}`, {
    hint: 'Go on without it.',
  })
}
