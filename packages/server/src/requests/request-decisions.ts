import type { Decisions, Input, Principal, RemoteResult } from '@provost/core'

import type { DecisionsBody, ExecuteBody, GivenInput, RemoteResultBody } from '../http/request-schema.ts'
import type { SessionHost } from '../sessions/session-host.ts'
import { givenHistory } from './client-history.ts'

/** Returns the decisions in a request; undefined if it has none. */
export function decisionsOf(given: DecisionsBody, principal: Principal): Decisions | undefined {
  const by = principal.id
  const { approvals = [], batches = [], toolResults = [], uncertain = [], inputs = [] } = given
  if (approvals.length + batches.length + toolResults.length + uncertain.length + inputs.length === 0) return undefined
  return {
    approvals: approvals.map(({ id, decision, reason, args, sticky }) => ({
      id,
      decision,
      by,
      ...(reason !== undefined && { reason }),
      ...(args !== undefined && { args }),
      ...(sticky && { sticky }),
    })),
    batches: batches.map(({ id, decision, reason, except, edits }) => ({
      id,
      decision,
      by,
      ...(reason !== undefined && { reason }),
      ...(except && { except }),
      ...(edits && { edits }),
    })),
    toolResults: toolResults.map((one) => ({ ...toRemoteResult(one), by })),
    uncertain: uncertain.map(({ callId, decision, output }) => ({
      callId,
      decision,
      by,
      ...(output !== undefined && { output }),
    })),
    inputs: inputs.map(({ id, value }) => ({ id, value })),
  }
}

function toRemoteResult(given: RemoteResultBody): RemoteResult {
  const { callId } = given
  if (!('error' in given)) return { callId, output: given.output }
  const { message, code } = given.error
  return { callId, error: { message, ...(code !== undefined && { code }) } }
}

export function toInput(input: GivenInput): Input {
  return typeof input === 'string'
    ? input
    : input.map((part) => {
        if (part.type === 'text') return part
        const { filename, ...rest } = part
        return { ...rest, ...(filename !== undefined && { filename }) }
      })
}

export function toHistory(
  messages: ExecuteBody['messages'],
  allowed: readonly string[],
): Parameters<SessionHost['begin']>[1]['messages'] {
  if (messages === undefined) return undefined
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- each message and part was rebuilt in the AI SDK's form
  return givenHistory(messages, allowed) as Parameters<SessionHost['begin']>[1]['messages']
}

export function toTools(tools: ExecuteBody['tools']): Parameters<SessionHost['begin']>[1]['tools'] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it was JSON, so its values are
  return tools as Parameters<SessionHost['begin']>[1]['tools']
}
