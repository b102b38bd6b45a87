import { whoAsks } from '@provost/agent'
import { isRecord, ProvostError } from '@provost/core'

import type { ServerOptions } from '../options/server-options.ts'

/**
 * Checks `operator` and `approvals`. With `authenticate`, `approvals` is required if an agent can ask for one.
 *
 * @throws ProvostError `invalid-option`
 */
export function checkApprovals({ agents, approvals, authenticate, operator }: ServerOptions): void {
  if (operator !== undefined && typeof operator !== 'function') {
    throw invalid(`\`operator\` of createServer is ${typeof operator}.`, 'Give a function: operator: (principal) => …')
  }
  if (approvals !== undefined) return checkRule(approvals)
  if (!authenticate) return
  for (const agent of agents) {
    const asker = whoAsks(agent)
    if (!asker) continue
    throw invalid(
      `The ${asker.kind} ${asker.name} of agent ${asker.agent} can ask for an approval, but \`approvals\` is missing.`,
      "Give createServer({ approvals: { by: 'requester' | 'operator' | (principal, question) => … } }). An extension that never asks says so with `asks: false`.",
    )
  }
}

function checkRule(approvals: unknown): void {
  const given: Record<string, unknown> = isRecord(approvals) ? approvals : {}
  const { by, mayEdit = false, peers = false } = given
  if (by !== 'requester' && by !== 'operator' && typeof by !== 'function') {
    throw invalid(
      `\`approvals.by\` is ${JSON.stringify(by) ?? 'not given'}.`,
      "Give 'requester', 'operator' or a function of the principal and the question.",
    )
  }
  if (typeof mayEdit !== 'boolean' && typeof mayEdit !== 'function') {
    throw invalid(`\`approvals.mayEdit\` is ${JSON.stringify(mayEdit)}.`, 'Give true, false or a function.')
  }
  if (typeof peers !== 'boolean')
    throw invalid(`\`approvals.peers\` is ${JSON.stringify(peers)}.`, 'Give true or false.')
}

function invalid(message: string, hint: string): ProvostError {
  return new ProvostError('invalid-option', message, { hint })
}
