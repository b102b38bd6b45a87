import type { Ask, ErrorInfo, Flow, Json, Label, Message, MessageInit, WaitAbout } from '@provost/core'
import { ProvostError, isRecord, joinLabels, labelOf, scrubMessage } from '@provost/core'

import { report } from '../control/report.ts'
import { knowing } from '../hooks/hook-context.ts'
import { inHookTime } from '../hooks/hook-time.ts'
import { applyFilter } from '../messages/apply-filter.ts'
import { messageOf } from '../messages/message.ts'
import { notReturned } from '../messages/transferred-context.ts'
import { mergeApprovals } from '../question/merge-approvals.ts'
import { checkAsks } from '../question/unexpected-ask.ts'
import type { RunContext } from '../types/run-context.ts'

/** What the `handoff` hooks said of messages that are about to cross. JSON, so that it is said once. */
export interface FlowAuthorization {
  readonly denied?: Pick<ErrorInfo, 'code' | 'message'>
  /** What crosses instead. */
  readonly with?: readonly Message[]
  /** A human is to be asked first. */
  readonly ask?: Ask
}

/**
 * Lets the `handoff` hooks see what is to cross, each what those before it left. One that throws refuses it.
 *
 * @param key of the messages that hooks put in place.
 */
export async function authorizeFlow(
  scope: RunContext,
  flow: Omit<Flow, 'label'>,
  label: Label,
  key: string,
): Promise<FlowAuthorization> {
  const asks: Ask[] = []
  let { payload } = flow
  for (const { extension, hook } of scope.plan.hooks.handoff) {
    const now: Flow = { ...flow, payload, label: payload === flow.payload ? label : joined(payload) }
    let said: Awaited<ReturnType<typeof hook>>
    try {
      said = await inHookTime(scope, extension, 'handoff', hook(now, knowing(scope, extension, now.label)))
      if (said && 'ask' in said) checkAsks(extension)
    } catch (thrown) {
      report(scope, thrown, { kind: 'hook', name: extension.name })
      return { denied: { code: notReturned, message: `${extension.name} could not judge what crosses.` } }
    }
    if (!said) continue
    if ('deny' in said) return { denied: { code: notReturned, message: said.deny } }
    if ('ask' in said) asks.push(said.ask)
    else payload = rewritten(scope, said.payload, key, label, flow)
  }
  if (payload.length === 0) return { denied: { code: notReturned, message: 'A hook left nothing of it.' } }
  return {
    ...(payload !== flow.payload && { with: payload }),
    ...(asks.length > 0 && { ask: mergeApprovals(asks) }),
  }
}

function rewritten(
  { secrets }: RunContext,
  messages: readonly MessageInit[],
  key: string,
  label: Label,
  { kind, to }: Pick<Flow, 'kind' | 'to'>,
): readonly Message[] {
  // Whoever answers speaks for himself, whoever is asked is told by a user.
  const role = kind === 'return' || kind === 'tool-out' || kind === 'fanout-out' ? 'assistant' : 'user'
  const whole = messages.map((init, index) => messageOf({ role, ...init }, `${key}/${index}`, label, to))
  return applyFilter({ kind: 'full' }, whole).map((message) => scrubMessage(secrets.scrubber, message))
}

/** The join over messages. */
export function joined(messages: readonly Message[]): Label {
  return joinLabels(...messages.map(labelOf))
}

/** A human is asked in the middle of a call, about something that the answer is for. */
export async function isApproved(
  { reason, expiresInMs }: Ask,
  what: string,
  wait: (about: WaitAbout) => Promise<Json>,
): Promise<boolean> {
  const answer = await wait({
    message: `${what} needs approval: ${reason}`,
    schema: { type: 'object', properties: { decision: { enum: ['approve', 'deny'] } }, required: ['decision'] },
    approves: true,
    ...(expiresInMs !== undefined && { withinMs: expiresInMs }),
  })
  return isRecord(answer) && answer['decision'] === 'approve'
}

/** What an answer comes to that may not come back. */
export function refusedAnswer(from: string, reason: string): ProvostError {
  return new ProvostError(notReturned, `What ${from} answered does not come back: ${reason}`, {
    hint: 'Go on without it.',
  })
}
