import type { Message, NewEntry } from '@provost/core'
import { fillLabel, positionId, toJson, trustedLabel } from '@provost/core'

import { newEntry } from '../state/entry.ts'
import type { Place } from '../types/log.ts'
import type { ModelAnswered } from '../types/loop.ts'
import type { ResolvedAgent } from '../types/resolved-agent.ts'
import type { SessionState } from '../types/session-state.ts'

/** What a model's answer puts into the log: that it was paid for, what it said, and what became of it. */
export function answerEntries(
  state: SessionState,
  plan: ResolvedAgent,
  place: Place,
  answered: ModelAnswered,
): NewEntry[] {
  const { message, ask, repair, unsaid } = answered
  const token = `${message.id}/approval`
  const entries = [
    answeredEntry(state, plan, place, answered),
    newEntry(place, message.id, {
      type: 'message',
      message,
      via: 'model',
      ...(ask && { held: token }),
      ...(repair && unsaid && { unsaid }),
    }),
  ]
  if (ask) {
    entries.push(
      newEntry(place, token, {
        type: 'wait',
        token,
        kind: 'approval',
        reason: ask.reason,
        ...(ask.evidence !== undefined && { evidence: toJson(ask.evidence) }),
        ...(ask.expiresInMs !== undefined && { deadline: Date.now() + ask.expiresInMs }),
        // Whoever reads the answer learns of it.
        about: { effect: 'egress', roles: {}, label: message.label ?? trustedLabel },
      }),
    )
  } else if (repair) entries.push(...repairEntries(place, message, repair))
  return entries
}

/** That a model answered, and what for. */
export function answeredEntry(
  state: SessionState,
  plan: ResolvedAgent,
  place: Place,
  answered: Omit<ModelAnswered, 'message'>,
): NewEntry {
  const { usage, finishReason, cost } = answered
  const attempt = answered.attempt ?? (state.run?.attempts ?? 0) + 1
  return newEntry(place, positionId(place.runId, place.step, 'attempt', attempt), {
    type: 'attempt',
    attempt,
    model: answered.model ?? plan.modelName,
    usage,
    ...(cost !== undefined && { cost }),
    outcome: 'answered',
    finishReason,
  })
}

/** The complaint goes where the model looks: into the results of its calls, or into a message of its own. */
function repairEntries(place: Place, message: Message, repair: NonNullable<ModelAnswered['repair']>): NewEntry[] {
  const calls = message.content.filter((part) => part.type === 'tool-call' && !part.providerExecuted)
  const text = typeof repair.content === 'string' ? repair.content : ''
  if (calls.length === 0) {
    const id = positionId(place.runId, place.step, 'message', repair.of ?? 'repair')
    const content =
      typeof repair.content === 'string' ? [{ type: 'text' as const, text: repair.content }] : repair.content
    const label = fillLabel(repair.label, message.label ?? trustedLabel)
    return [
      newEntry(place, id, {
        type: 'message',
        message: { id, role: 'user', content, label, agent: place.agent, createdAt: Date.now() },
        via: 'system',
      }),
    ]
  }
  return calls.flatMap((part) =>
    part.type === 'tool-call'
      ? [
          newEntry(place, `${part.callId}/settled`, {
            type: 'call',
            op: 'settled',
            callId: part.callId,
            outcome: 'skipped',
            via: 'hook',
            output: { type: 'error-text', value: text },
            label: message.label ?? trustedLabel,
            durationMs: 0,
          }),
        ]
      : [],
  )
}
