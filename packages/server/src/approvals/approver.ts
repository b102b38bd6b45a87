import type { Principal } from '@provost/core'

import { HttpError } from '../http/http-error.ts'
import type { ApprovalQuestion } from '../options/approval-options.ts'
import type { ServerOptions } from '../options/server-options.ts'

/** The rules of a server about who decides. */
export interface Approver {
  /** Whether a principal has the one operator role. Without `authenticate`, everybody on this machine has. */
  isOperator(principal: Principal): Promise<boolean>
  /** Whether principals may decide in sessions of others. */
  readonly anybody: boolean
  /** @throws HttpError 403 `approvals-unset`, `peer-approval`, `not-approver` */
  mayDecide(principal: Principal, question: ApprovalQuestion): Promise<void>
  /** Whether changed arguments run without a new question. */
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
    anybody: typeof approvals?.by === 'function',

    async mayDecide(principal, question) {
      const { kind, via } = question
      if (via !== 'http' && approvals?.peers !== true) throw peerApproval(via)
      // What nobody asked about beforehand is the requester's: a call whose process died.
      if (!approvals && authenticate && kind === 'approval') throw approvalsUnset()
      if (!(await permits(principal, question))) throw notApprover(question)
    },

    async mayEdit(principal, question) {
      const mayEdit = approvals?.mayEdit ?? false
      return typeof mayEdit === 'function' ? isYes(await mayEdit(principal, question)) : mayEdit
    },
  }
}

/** Nothing but `true` permits, whatever JavaScript answers. */
function isYes(answer: unknown): boolean {
  return answer === true
}

/** Whether it is the principal's own session. */
export function isRequester({ id }: Principal, { requester }: Pick<ApprovalQuestion, 'requester'>): boolean {
  return requester?.id === id
}

function approvalsUnset(): HttpError {
  return new HttpError(403, {
    code: 'approvals-unset',
    message: 'This server does not say who approves calls.',
    hint: 'Give createServer an `approvals`.',
  })
}

function peerApproval(via: string): HttpError {
  return new HttpError(403, {
    code: 'peer-approval',
    message: `Calls are not approved over ${via === 'a2a' ? 'A2A' : 'MCP'} on this server.`,
    hint: 'Have a person decide over /api/waits, or set `approvals.peers`.',
  })
}

function notApprover({ toolName }: ApprovalQuestion): HttpError {
  return new HttpError(403, {
    code: 'not-approver',
    message: `You may not decide on ${toolName === '' ? 'this answer' : `this call of ${toolName.slice(0, 128)}`}.`,
    hint: 'Ask an operator, who finds it at /api/waits.',
  })
}
