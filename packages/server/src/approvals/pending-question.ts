import { pendingWork } from '@provost/agent'
import type { Effect, PendingApproval, PendingWork, Principal, SessionStore } from '@provost/core'

import type { ApprovalQuestion, Via } from '../options/approval-options.ts'
import type { CompensationWaits } from '../sessions/compensation-waits.ts'
import { compensationWaits, isOverIn } from '../sessions/compensation-waits.ts'
import type { LiveSession } from '../sessions/live-session.ts'
import { foldSession } from '../sessions/session-end.ts'

/** One pending wait of a session, of any kind. */
export type Waiting = {
  [K in keyof WaitKinds]: { readonly kind: K; readonly wait: PendingWork[WaitKinds[K]][number] }
}[keyof WaitKinds]

interface WaitKinds {
  approval: 'approvals'
  input: 'inputs'
  uncertain: 'uncertain'
  remote: 'remoteCalls'
}

/** Returns all pending waits, approvals first. */
export function waitingIn({ approvals, inputs, uncertain, remoteCalls }: PendingWork): readonly Waiting[] {
  return [
    ...approvals.map((wait) => ({ kind: 'approval', wait }) as const),
    ...uncertain.map((wait) => ({ kind: 'uncertain', wait }) as const),
    ...inputs.map((wait) => ({ kind: 'input', wait }) as const),
    ...remoteCalls.map((wait) => ({ kind: 'remote', wait }) as const),
  ]
}

/** The pending waits of a session, read once for all decisions of a request. */
export interface Waits {
  /** Finds a wait by its id, or by the id of its call. */
  find(kind: Waiting['kind'], id: string): Promise<Waiting | undefined>
  /** Returns the open approvals of a batch. */
  rows(batch: string): Promise<readonly PendingApproval[]>
  /** Whether a wait or a batch existed and is over. */
  isOver(id: string): Promise<boolean>
}

/** Reads the pending waits of a session and of its compensation from this process, else from their logs. */
export function waitsOf(store: SessionStore, live: LiveSession): Waits {
  let read: ReturnType<typeof foldSession> | undefined
  let undoing: Promise<CompensationWaits> | undefined
  const compensation = (): Promise<CompensationWaits> => (undoing ??= compensationWaits(store, live.id))
  const matches =
    (kind: Waiting['kind'], id: string) =>
    (one: Waiting): boolean =>
      one.kind === kind && (kind === 'approval' || kind === 'input' ? one.wait.id : one.wait.callId) === id
  return {
    async find(kind, id) {
      const here = waitingIn(live.session.pending).find(matches(kind, id))
      if (here) return here
      const { state } = await (read ??= foldSession(store, live.id))
      const logged = waitingIn(pendingWork(state)).find(matches(kind, id))
      return logged ?? waitingIn((await compensation()).pending).find(matches(kind, id))
    },
    async rows(batch) {
      const here = live.session.pending.approvals.filter((one) => one.batch === batch)
      if (here.length > 0) return here
      const { state } = await (read ??= foldSession(store, live.id))
      const logged = pendingWork(state).approvals.filter((one) => one.batch === batch)
      return logged.length > 0 ? logged : (await compensation()).pending.approvals.filter((one) => one.batch === batch)
    },
    async isOver(id) {
      const { state } = await (read ??= foldSession(store, live.id))
      return isOverIn(state, id) || (await compensation()).isOver(id)
    },
  }
}

/** The session and the protocol of a question. */
export interface QuestionPlace {
  readonly live: Pick<LiveSession, 'id' | 'agent'>
  readonly requester: Principal | undefined
  readonly via: Via
}

/** Returns a wait as approvers and `authorize` see it. */
export function questionOf({ live, requester, via }: QuestionPlace, waiting: Waiting): ApprovalQuestion {
  const { wait, kind } = waiting
  const { id, callId, toolName, agent, runPath, expiresAt } = wait
  const place = {
    ...{ sessionId: live.id, ...(requester && { requester }), via, id, callId, toolName, agent, runPath },
    ...(expiresAt !== undefined && { expiresAt }),
  }
  if (kind === 'approval') return { ...waiting.wait, ...place, kind }
  const own = { kind: kind === 'uncertain' ? kind : 'approval', effect: effectOf(live, toolName) } as const
  if (kind === 'input') return { ...place, ...own, input: null, reason: waiting.wait.message }
  return { ...place, ...own, input: waiting.wait.input, reason: '' }
}

/** Returns the effect of a tool. A child's tool is unknown here, so the strongest effect is assumed. */
function effectOf({ agent }: Pick<LiveSession, 'agent'>, toolName: string): Effect {
  return agent.registry.get(toolName)?.effect ?? 'egress'
}
