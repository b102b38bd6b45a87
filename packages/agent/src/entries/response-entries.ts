import type { Message, NewEntry } from '@provost/core'
import { fillLabel, positionId, toJson, trustedLabel } from '@provost/core'

import { newEntry } from '../state/entry.ts'
import type { EntryContext } from '../types/log.ts'
import type { ModelAnswered } from '../types/loop.ts'
import type { ResolvedAgent } from '../types/resolved-agent.ts'
import type { SessionState } from '../types/session-state.ts'

/** Returns the entries for a model's answer: its attempt, its message and the outcome. */
export function answerEntries(
  state: SessionState,
  agent: ResolvedAgent,
  place: EntryContext,
  answered: ModelAnswered,
): NewEntry[] {
  const { message, ask, repair, unsaid } = answered
  const token = `${message.id}/approval`
  const entries = [
    answeredEntry(state, agent, place, answered),
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
        ...(ask.expiresInMs !== undefined && { deadline: place.clock.now() + ask.expiresInMs }),
        // The readers of the answer receive its data.
        about: { effect: 'egress', roles: {}, label: message.label ?? trustedLabel },
      }),
    )
  } else if (repair) entries.push(...repairEntries(place, message, repair))
  return entries
}

/** Returns the entry for an attempt that the model answered. */
export function answeredEntry(
  state: SessionState,
  agent: ResolvedAgent,
  place: EntryContext,
  answered: Omit<ModelAnswered, 'message'>,
): NewEntry {
  const { usage, finishReason, cost } = answered
  const attempt = answered.attempt ?? (state.run?.attempts ?? 0) + 1
  return newEntry(place, positionId(place.runId, place.step, 'attempt', attempt), {
    type: 'attempt',
    attempt,
    model: answered.model ?? agent.modelName,
    usage,
    ...(cost !== undefined && { cost }),
    outcome: 'answered',
    finishReason,
  })
}

/** The repair request goes where the model looks: into the results of its calls, or into a new message. */
function repairEntries(
  place: EntryContext,
  message: Message,
  repair: NonNullable<ModelAnswered['repair']>,
): NewEntry[] {
  const calls = message.content.filter((part) => part.type === 'tool-call' && !part.providerExecuted)
  const text = typeof repair.content === 'string' ? repair.content : ''
  if (calls.length === 0) {
    const id = positionId(place.runId, place.step, 'message', repair.of ?? 'repair')
    const content =
      typeof repair.content === 'string' ? [{ type: 'text' as const, text: repair.content }] : repair.content
    const label = fillLabel(repair.label, message.label ?? trustedLabel)
    const purpose = repair.of === 'output' ? 'output-repair' : 'repair'
    return [
      newEntry(place, id, {
        type: 'message',
        message: { id, role: 'user', content, label, agent: place.agent, createdAt: place.clock.now(), purpose },
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
