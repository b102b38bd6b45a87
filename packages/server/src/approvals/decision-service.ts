import type { ApprovalDecision, BatchDecision, Decisions, Json, Principal } from '@provost/core'
import { canonicalJson, isRecord, ProvostError, toJson } from '@provost/core'

import type { HttpError } from '../http/http-error.ts'
import { unknownSession } from '../http/http-error.ts'
import { isCode } from '../http/request-error.ts'
import type { ApprovalQuestion, Via } from '../options/approval-options.ts'
import type { Action } from '../options/server-options.ts'
import type { LiveSession } from '../sessions/live-session.ts'
import { ownership } from '../sessions/ownership.ts'
import type { SessionHost, SessionView } from '../sessions/session-host.ts'
import type { Approver } from './approver.ts'
import { isRequester } from './approver.ts'
import type { Waiting } from './pending-question.ts'
import { questionOf, waitsOf } from './pending-question.ts'

/** A session in which a principal reads or decides. */
export interface ReachedSession {
  readonly live: LiveSession
  /** Principal of the session. */
  readonly requester: Principal | undefined
}

/** Decisions of principals: in their own sessions, and in other sessions as the rules of the server permit. */
export interface DecisionService {
  /**
   * Opens a session to decide in it: the principal's own, or any session for operators and if `approvals.by` is a
   * function.
   *
   * @throws HttpError 404
   */
  openToDecide(principal: Principal, id: string): Promise<ReachedSession>
  /**
   * Opens a session to abort its run: the principal's own, or any session for the role `operate`.
   *
   * @throws HttpError 404
   */
  openToAbort(principal: Principal, id: string): Promise<ReachedSession>
  /**
   * Opens a session to read it: the principal's own, or any session for a principal that decides or operates, if `authorize` permits it.
   *
   * @throws HttpError 403, 404
   */
  openToRead(principal: Principal, id: string): Promise<LiveSession>
  /**
   * Reads a session without opening it, also in quarantine. The rules of `read` apply.
   *
   * @throws HttpError 403, 404
   */
  view(principal: Principal, id: string, kind: 'read' | 'export'): Promise<SessionView>
  /**
   * Checks each decision before any is delivered. Arguments that the approver may not edit become proposals.
   *
   * @throws HttpError 403, 404; ProvostError `unknown-wait`
   */
  check(principal: Principal, reached: ReachedSession, decisions: Decisions, via: Via): Promise<Decisions>
}

/** Dependencies of {@link DecisionService}. */
interface DecisionServiceOptions {
  readonly host: SessionHost
  readonly approver: Approver
  readonly authorized: boolean
  /** @throws HttpError 403 */
  allow(principal: Principal, action: Action): Promise<void>
}

export function createDecisionService({ host, approver, authorized, allow }: DecisionServiceOptions): DecisionService {
  async function foreign(principal: Principal, id: string, refused: unknown): Promise<ReachedSession> {
    if (!isCode(refused, 'unknown-session')) throw refused
    const owner = await ownership(host.store, id)
    if (!owner || owner.principal?.id === principal.id) throw refused
    // Opened with its own principal, as after a crash.
    return { live: await host.open(owner.principal, id), requester: owner.principal }
  }

  async function openToDecide(principal: Principal, id: string): Promise<ReachedSession> {
    try {
      return { live: await host.open(principal, id), requester: principal }
    } catch (refused) {
      if (!approver.isRule && !(await approver.isOperator(principal))) throw refused
      return foreign(principal, id, refused)
    }
  }

  async function openToAbort(principal: Principal, id: string): Promise<ReachedSession> {
    try {
      return { live: await host.open(principal, id), requester: principal }
    } catch (refused) {
      if ((await approver.roleOf(principal))?.role !== 'operate') throw refused
      return foreign(principal, id, refused)
    }
  }

  /** Whether a principal may read the sessions of others, as in the console. The role `view` reads only there, where secrets are withheld. */
  async function readsOthers(principal: Principal): Promise<boolean> {
    const held = await approver.roleOf(principal)
    return held !== undefined && held.role !== 'view' && (authorized || !held.needsAuthorize)
  }

  /**
   * Reads a session for its own principal, or for an operator that `authorize` permits.
   *
   * @param look opens or views the session of a principal; receives undefined for a session without a principal.
   */
  async function looked<T>(
    principal: Principal,
    id: string,
    kind: 'read' | 'export',
    look: (whose: Principal | undefined) => Promise<T>,
  ): Promise<T> {
    let found: T
    let requester: Principal | undefined = principal
    try {
      found = await look(principal)
    } catch (refused) {
      if (!isCode(refused, 'unknown-session') || !(await readsOthers(principal))) throw refused
      const owner = await ownership(host.store, id)
      if (!owner) throw refused
      requester = owner.principal
      found = await look(requester)
    }
    await allow(principal, { kind, sessionId: id, ...(requester && { requester }) })
    return found
  }

  async function checkOne(
    principal: Principal,
    { live, requester }: ReachedSession,
    waiting: Waiting,
    via: Via,
    given: { readonly verdict?: 'approve' | 'deny'; readonly args?: Json },
  ): Promise<ApprovalQuestion> {
    const { verdict, args } = given
    const question = { ...questionOf({ live, requester, via }, waiting), ...(args !== undefined && { args }) }
    const owns = isRequester(principal, { ...(requester && { requester }) })
    const asks = waiting.kind === 'approval' || waiting.kind === 'uncertain' || isApproval(waiting)
    if (asks && !(verdict === 'deny' && owns)) await approver.mayDecide(principal, question)
    else if (!owns && !(await approver.isOperator(principal))) throw unknownSession(live.id)
    await allow(principal, actionOf(waiting, question, verdict))
    return question
  }

  async function check(
    principal: Principal,
    reached: ReachedSession,
    decisions: Decisions,
    via: Via,
  ): Promise<Decisions> {
    const waits = waitsOf(host.store, reached.live)
    async function look(
      kind: Waiting['kind'],
      id: string,
      given: { readonly verdict?: 'approve' | 'deny'; readonly args?: Json } = {},
    ): Promise<ApprovalQuestion | undefined> {
      const waiting = await waits.find(kind, id)
      if (waiting) return checkOne(principal, reached, waiting, via, given)
      if (!(await waits.isOver(id))) throw unknownWait(id)
      // The call is no longer uncertain. The check still applies, since it may be again at the time of delivery.
      if (kind === 'uncertain') await approver.mayDecide(principal, unknownCallQuestion(reached, id, via))
      return undefined
    }

    async function checkBatch(decision: BatchDecision): Promise<BatchDecision> {
      const { id: batch, decision: verdict, except = [], edits = {}, propose: _, ...said } = decision
      const rows = await waits.rows(batch)
      if (rows.length === 0 && !(await waits.isOver(batch))) throw unknownWait(batch)
      let mayEdit = true
      for (const wait of rows) {
        const { id } = wait
        const args = Object.hasOwn(edits, id) ? { args: toJson(edits[id]) } : {}
        const row = except.includes(id) ? { verdict: 'deny' as const } : { verdict, ...args }
        const question = await checkOne(principal, reached, { kind: 'approval', wait }, via, row)
        if ('args' in row) mayEdit = mayEdit && (await approver.mayEdit(principal, question))
      }
      const edited = Object.keys(edits).length > 0
      return { ...said, id: batch, decision: verdict, except, edits, ...(edited && !mayEdit && { propose: true }) }
    }

    const batches: BatchDecision[] = []
    for (const decision of decisions.batches ?? []) batches.push(await checkBatch(decision))
    const approvals: ApprovalDecision[] = []
    for (const decision of decisions.approvals ?? []) {
      const { id, decision: verdict, args, ...rest } = decision
      const edited = args === undefined ? undefined : toJson(args)
      const question = await look('approval', id, { verdict, ...(edited !== undefined && { args: edited }) })
      const changed = edited !== undefined && (!question || canonicalJson(edited) !== canonicalJson(question.input))
      const final = !changed || verdict === 'deny' || (question && (await approver.mayEdit(principal, question)))
      const { propose: _, ...said } = rest
      approvals.push({
        ...said,
        id,
        decision: verdict,
        ...(changed && { args: edited }),
        ...(!final && { propose: true }),
      })
    }
    for (const { callId } of decisions.uncertain ?? []) await look('uncertain', callId)
    for (const { callId } of decisions.toolResults ?? []) await look('remote', callId)
    for (const { id, value } of decisions.inputs ?? []) {
      const approves = isRecord(value) && value['decision'] === 'approve'
      await look('input', id, { verdict: approves ? 'approve' : 'deny' })
    }
    return { ...decisions, approvals, batches }
  }

  return {
    openToDecide,
    openToAbort,
    openToRead: (principal, id) => looked(principal, id, 'read', (whose) => host.open(whose, id)),
    view: (principal, id, kind) => looked(principal, id, kind, (whose) => host.view(whose, id)),
    async check(principal, reached, decisions, via) {
      const owns = reached.requester?.id === principal.id
      if (owns || (await approver.isOperator(principal))) return check(principal, reached, decisions, via)
      try {
        return await check(principal, reached, decisions, via)
      } catch (refused) {
        // For principals without permission the session does not exist.
        throw isRefusal(refused) ? unknownSession(reached.live.id) : refused
      }
    },
  }
}

function isRefusal(thrown: unknown): thrown is HttpError | ProvostError {
  return ['not-approver', 'peer-approval', 'unknown-wait', 'forbidden'].some((code) => isCode(thrown, code))
}

function isApproval(waiting: Waiting): boolean {
  return waiting.kind === 'input' && waiting.wait.approves === true
}

/** Returns what `authorize` is asked about a wait. */
export function actionOf(waiting: Waiting, question: ApprovalQuestion, verdict?: 'approve' | 'deny'): Action {
  const { sessionId, requester, via, id, callId, agent, toolName, effect, input, args } = question
  const kind = isApproval(waiting) ? 'approve' : actions[waiting.kind]
  return {
    kind,
    sessionId,
    ...(requester && { requester }),
    ...{ via, id, callId, agent, toolName, effect, input },
    ...(args !== undefined && { args }),
    ...(kind === 'approve' && verdict && { decision: verdict }),
  }
}

/** Returns the question of an unknown call, which may have had any effect. */
function unknownCallQuestion({ live, requester }: ReachedSession, callId: string, via: Via): ApprovalQuestion {
  return {
    ...{ kind: 'uncertain', sessionId: live.id, ...(requester && { requester }), via, id: callId, callId },
    ...{ toolName: '', agent: live.agent.name, runPath: [], effect: 'egress', input: null, reason: '' },
  }
}

const actions = { approval: 'approve', uncertain: 'uncertain', input: 'answer', remote: 'tool-result' } as const

function unknownWait(id: string): ProvostError {
  return new ProvostError('unknown-wait', `The run has no wait ${id.slice(0, 1_000)}.`, {
    hint: 'Use an id from result.pending or from the event of the question.',
  })
}
