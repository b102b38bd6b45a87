import type { InputRequests } from '@modelcontextprotocol/server'
import type { ApprovalDecision, PendingApproval } from '@provost/core'
import { displayText, isRecord, reasonText } from '@provost/core'
import { z } from 'zod'

import type { McpCall } from './mcp-call.ts'

/** The form that the client shows to its user. */
const form = z.object({
  approve: z.boolean().describe('Whether the call may run.'),
  reason: z.string().max(1_000).optional().describe('Why not, for the agent.'),
})

/** Characters of arguments that a question shows. */
const mostShown = 2_000

/**
 * Whether the user of the client can be asked: the server trusts clients with approvals (`approvals.peers`), and the client
 * says that it shows forms. Clients of the protocol of 2025 cannot be asked by a server without sessions.
 */
export function canAsk({ setup, mcpReq }: Pick<McpCall, 'setup' | 'mcpReq'>): boolean {
  const capabilities: unknown = Reflect.get(mcpReq.envelope ?? {}, capabilitiesKey)
  return setup.approver.takesPeers && isRecord(capabilities) && isRecord(capabilities['elicitation'])
}

/** Where a request of 2026 states what its client can do. */
const capabilitiesKey = 'io.modelcontextprotocol/clientCapabilities'

/** Returns a form for each pending approval, under its id. */
export function approvalForms({ sdk }: McpCall, approvals: readonly PendingApproval[]): InputRequests {
  return Object.fromEntries(
    approvals.map((one) => {
      const shown = displayText(JSON.stringify(one.input))
      const input = shown.length > mostShown ? `${shown.slice(0, mostShown).toWellFormed()}…` : shown
      const message = `May ${displayText(one.agent)} call ${displayText(one.toolName)} with ${input}? ${reasonText(one)}`
      return [one.id, sdk.inputRequired.elicit({ message: message.trim(), requestedSchema: form })]
    }),
  )
}

/** Returns the decisions of the user. A form that the user declined denies its call; a dismissed one decides nothing. */
export function answeredApprovals(
  { sdk, principal, mcpReq }: McpCall,
  approvals: readonly PendingApproval[],
): readonly ApprovalDecision[] {
  return approvals.flatMap(({ id }): readonly ApprovalDecision[] => {
    const answered = sdk.inputResponse(mcpReq.inputResponses, id)
    if (answered.kind !== 'elicit' || answered.action === 'cancel') return []
    const given = sdk.acceptedContent(mcpReq.inputResponses, id, form)
    // An accepted form that is not as asked approves nothing.
    if (given?.approve === true) return [{ id, decision: 'approve', by: principal.id }]
    return [{ id, decision: 'deny', by: principal.id, ...(given?.reason !== undefined && { reason: given.reason }) }]
  })
}
