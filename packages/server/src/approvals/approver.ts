import type { Principal } from '@provost/core'

import { HttpError } from '../http/http-error.ts'
import type { ApprovalQuestion } from '../options/approval-options.ts'
import type { ServerOptions } from '../options/server-options.ts'

/** The rules of a server about who may decide. */
export interface Approver {
  /** Whether a principal has the operator role. Without `authenticate`, each request from this machine has it. */
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
  const isOperator = async (principal: Principal): Promise<boolean> =>
    operator ? isYes(await operator(principal)) : authenticate === undefined

  async function permits(principal: Principal, question: ApprovalQuestion): Promise<boolean> {
    const by = approvals?.by ?? 'requester'
    if (typeof by === 'function') return isYes(await by(principal, question))
    if (by === 'requester' && isRequester(principal, question)) return true
    return isOperator(principal)
  }

  return {
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
