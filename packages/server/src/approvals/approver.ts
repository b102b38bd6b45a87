import type { Principal } from '@provost/core'
import { isRecord } from '@provost/core'

import { HttpError } from '../http/http-error.ts'
import type { ApprovalQuestion, OperatorRole } from '../options/approval-options.ts'
import type { ServerOptions } from '../options/server-options.ts'

/** An operator role, and what its principal reads. */
export interface HeldRole {
  readonly role: OperatorRole
  /** Whether it reads values that are labelled secret. */
  readonly cleared: boolean
  /** Whether it reads the sessions of others only where `authorize` is set. */
  readonly needsAuthorize: boolean
}

/** The rules of a server about who may decide. */
export interface Approver {
  /** Returns the operator role of a principal. Without `authenticate`, each request from this machine may operate. */
  roleOf(principal: Principal): Promise<HeldRole | undefined>
  /** Whether a principal has an operator role that decides. */
  isOperator(principal: Principal): Promise<boolean>
  /** Whether `approvals.by` is a function, so that principals may decide in other principals' sessions. */
  readonly isRule: boolean
  /** Whether approvals over A2A and MCP count. */
  readonly takesPeers: boolean
  /** @throws HttpError 403 `approvals-unset`, `peer-approval`, `not-approver` */
  mayDecide(principal: Principal, question: ApprovalQuestion): Promise<void>
  /** Whether changed arguments run without a new approval. */
  mayEdit(principal: Principal, question: ApprovalQuestion): Promise<boolean>
}

export function createApprover({
  approvals,
  authenticate,
  operator,
}: Pick<ServerOptions, 'approvals' | 'authenticate' | 'operator'>): Approver {
  async function roleOf(principal: Principal): Promise<HeldRole | undefined> {
    if (operator) return heldRole(await operator(principal))
    return authenticate ? undefined : { role: 'operate', cleared: true, needsAuthorize: false }
  }

  async function isOperator(principal: Principal): Promise<boolean> {
    const held = await roleOf(principal)
    return held !== undefined && held.role !== 'view'
  }

  async function permits(principal: Principal, question: ApprovalQuestion): Promise<boolean> {
    const by = approvals?.by ?? 'requester'
    if (typeof by === 'function') return isYes(await by(principal, question))
    if (by === 'requester' && isRequester(principal, question)) return true
    return isOperator(principal)
  }

  return {
    roleOf,
    isOperator,
    isRule: typeof approvals?.by === 'function',
    takesPeers: approvals?.peers === true,

    async mayDecide(principal, question) {
      const { kind, via } = question
      if (via !== 'http' && approvals?.peers !== true) throw peerApproval(via)
      // An uncertain call had no earlier question: its requester may decide.
      if (!approvals && authenticate && kind === 'approval') throw approvalsUnset()
      if (!(await permits(principal, question))) throw notApprover(question)
    },

    async mayEdit(principal, question) {
      const mayEdit = approvals?.mayEdit ?? false
      return typeof mayEdit === 'function' ? isYes(await mayEdit(principal, question)) : mayEdit
    },
  }
}

/** Reads the answer of untyped code: everything that is no role is none. */
function heldRole(answer: unknown): HeldRole | undefined {
  if (answer === true) return { role: 'operate', cleared: true, needsAuthorize: true }
  const role = isRecord(answer) ? answer['role'] : answer
  if (role !== 'view' && role !== 'decide' && role !== 'operate') return undefined
  const cleared = role !== 'view' || (isRecord(answer) && answer['clearance'] === 'secret')
  return { role, cleared, needsAuthorize: false }
}

/** Only `true` permits; other truthy values of untyped code do not. */
function isYes(answer: unknown): boolean {
  return answer === true
}

/** Whether the principal is the requester of the session. */
export function isRequester({ id }: Principal, { requester }: Pick<ApprovalQuestion, 'requester'>): boolean {
  return requester?.id === id
}

function approvalsUnset(): HttpError {
  return new HttpError(403, {
    code: 'approvals-unset',
    message: 'The option approvals of createServer is missing, so no call can be approved.',
    hint: 'Give createServer { approvals: { by: … } }.',
  })
}

function peerApproval(via: string): HttpError {
  return new HttpError(403, {
    code: 'peer-approval',
    message: `This server does not accept approvals over ${via === 'a2a' ? 'A2A' : 'MCP'}.`,
    hint: 'Decide over /api/waits, or set `approvals.peers`.',
  })
}

function notApprover({ toolName }: ApprovalQuestion): HttpError {
  return new HttpError(403, {
    code: 'not-approver',
    message: `You may not decide on ${toolName === '' ? 'this answer' : `this call of ${toolName.slice(0, 128)}`}.`,
    hint: 'Ask an operator to decide: GET /api/waits lists it.',
  })
}
