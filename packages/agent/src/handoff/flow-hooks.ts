import type {
  Ask,
  ErrorInfo,
  Flow,
  HookContext,
  Json,
  Label,
  MaybePromise,
  Message,
  MessageInit,
  WaitAbout,
} from '@provost/core'
import { ProvostError, isPromise, isRecord, joinLabels, labelOf, scrubMessage } from '@provost/core'
import { applyFilter } from '@provost/sessions'

import { runHooks } from '../hooks/run-hooks.ts'
import { messageOf } from '../messages/message.ts'
import { notReturned } from '../messages/transferred-context.ts'
import { mergeApprovals } from '../question/merge-approvals.ts'
import { checkAsks } from '../question/unexpected-ask.ts'
import type { RunContext } from '../types/run-context.ts'

/** The combined answers of the `handoff` hooks about messages that pass from one agent to another. */
export interface FlowAuthorization {
  readonly asks: readonly { readonly by: string; readonly ask: Ask }[]
  readonly deny?: { readonly by: string; readonly reason: string }
  /** The messages that replace the payload. */
  readonly with?: readonly Message[]
}

interface Checked extends FlowAuthorization {
  readonly flow: Flow
}

/**
 * Passes a flow through the `handoff` hooks: a transfer, a return, and what children receive and answer. Each hook
 * receives the previous hook's payload. A flow without messages is denied.
 *
 * @param key prefix for the ids of messages that hooks write.
 * @param flowWith returns the flow with another payload. Default: these messages and their joined label.
 */
export function authorizeFlow(
  ctx: RunContext,
  flow: Flow,
  key: string,
  approval?: HookContext['approval'],
  flowWith = (payload: readonly Message[]): Flow => ({ ...flow, payload, label: joined(payload) }),
): MaybePromise<FlowAuthorization> {
  const unchanged: Checked = { flow, asks: [] }
  const checked = runHooks(ctx, 'handoff', unchanged, {
    changes: approval && { approval },
    shown: (before) => before.flow.label,
    call: (hook, hookContext, before) => hook(before.flow, hookContext),
    answered(answer, before, by) {
      if ('deny' in answer) return { ...before, deny: { by: by.name, reason: answer.deny } }
      if ('ask' in answer) {
        checkAsks(by)
        return { ...before, asks: [...before.asks, { by: by.name, ask: answer.ask }] }
      }
      const messages = rewritten(ctx, answer.payload, key, before.flow)
      return { ...before, with: messages, flow: flowWith(messages) }
    },
    ends: ({ deny }) => deny !== undefined,
    failed: (before, { name: by }) => ({ ...before, deny: { by, reason: `${by} failed to check the transfer.` } }),
  })
  return isPromise(checked) ? checked.then(withoutEmpty) : withoutEmpty(checked)
}

function withoutEmpty({ flow, ...authorization }: Checked): FlowAuthorization {
  if (authorization.deny || flow.payload.length > 0) return authorization
  return { ...authorization, deny: { by: 'handoff', reason: 'A hook removed all messages.' } }
}

/** A {@link FlowAuthorization} as a memo keeps it. */
export interface RecordedAuthorization {
  readonly denied?: Pick<ErrorInfo, 'code' | 'message'>
  readonly with?: readonly Message[]
  /** The approval that is required first. */
  readonly ask?: Ask
}

/** Returns an authorization for a memo: one denial or one approval. */
export function recordedAuthorization({ asks, deny, with: messages }: FlowAuthorization): RecordedAuthorization {
  if (deny) return { denied: { code: notReturned, message: deny.reason } }
  return {
    ...(messages && { with: messages }),
    ...(asks.length > 0 && { ask: mergeApprovals(asks.map(({ ask }) => ask)) }),
  }
}

function rewritten(
  { secrets, state }: RunContext,
  messages: readonly MessageInit[],
  key: string,
  { kind, to, label }: Flow,
): readonly Message[] {
  // Answers are assistant messages; requests are user messages.
  const role = kind === 'return' || kind === 'tool-out' || kind === 'fanout-out' ? 'assistant' : 'user'
  const whole = messages.map((init, index) => messageOf({ role, ...init }, state.clock, `${key}/${index}`, label, to))
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
