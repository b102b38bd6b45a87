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

/** The combined answers of the `handoff` hooks about a transfer. It is JSON, so that a memo can keep it. */
export interface FlowAuthorization {
  readonly denied?: Pick<ErrorInfo, 'code' | 'message'>
  /** The messages that replace the payload. */
  readonly with?: readonly Message[]
  /** The approval that is required first. */
  readonly ask?: Ask
}

/**
 * Passes a transfer through the `handoff` hooks. Each hook receives the previous hook's payload. A hook that throws refuses
 * the transfer.
 *
 * @param key prefix for the ids of messages that hooks write.
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
    let answer: Awaited<ReturnType<typeof hook>>
    try {
      answer = await inHookTime(scope, extension, 'handoff', hook(now, knowing(scope, extension, now.label)))
      if (answer && 'ask' in answer) checkAsks(extension)
    } catch (thrown) {
      report(scope, thrown, { kind: 'hook', name: extension.name })
      return { denied: { code: notReturned, message: `${extension.name} failed to check the transfer.` } }
    }
    if (!answer) continue
    if ('deny' in answer) return { denied: { code: notReturned, message: answer.deny } }
    if ('ask' in answer) asks.push(answer.ask)
    else payload = rewritten(scope, answer.payload, key, label, flow)
  }
  if (payload.length === 0) return { denied: { code: notReturned, message: 'A hook removed all messages.' } }
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
  // Answers are assistant messages; requests are user messages.
  const role = kind === 'return' || kind === 'tool-out' || kind === 'fanout-out' ? 'assistant' : 'user'
  const whole = messages.map((init, index) => messageOf({ role, ...init }, `${key}/${index}`, label, to))
  return applyFilter({ kind: 'full' }, whole).map((message) => scrubMessage(secrets.scrubber, message))
}

/** Returns the joined label of messages. */
export function joined(messages: readonly Message[]): Label {
  return joinLabels(...messages.map(labelOf))
}

/**
 * Waits for an approval in the middle of a call.
 *
 * @param what is to be approved, for the message.
 */
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

/** The error for an answer that hooks or approvers refused. */
export function refusedAnswer(from: string, reason: string): ProvostError {
  return new ProvostError(notReturned, `The answer of ${from} was refused: ${reason}`, {
    hint: 'Continue without this answer.',
  })
}
