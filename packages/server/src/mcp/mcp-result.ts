import type { CallToolResult } from '@modelcontextprotocol/server'
import type { AgentEvent, ErrorInfo, PendingWork } from '@provost/core'
import { displayText, reasonText } from '@provost/core'

/** Statuses that a result states. */
export const toolStatuses: readonly ['completed', 'suspended', 'aborted'] = ['completed', 'suspended', 'aborted']

/** The end of a run, as a call returns it. */
export interface Ended {
  readonly status: string
  readonly text: string
  readonly pending: PendingWork
  readonly error?: ErrorInfo | undefined
}

/** Returns what a client that asked for progress is told of an event: steps and calls, those of children too. */
export function progressText(event: AgentEvent): string | undefined {
  if (event.type === 'step.start') return `step ${event.step}`
  return event.type === 'tool.execute.start' ? displayText(event.toolName) : undefined
}

/** Returns whether the answer to a call is its result, or a question to the user of the client. */
export function answerKind({ status, pending }: Ended, canAsk: boolean): 'input_required' | 'result' {
  return canAsk && status === 'suspended' && pending.approvals.length > 0 ? 'input_required' : 'result'
}

export function resultOf(sessionId: string, { status, text, pending }: Ended): CallToolResult {
  const waiting = pending.approvals.map((one) => `${displayText(one.toolName)} (${reasonText(one)})`).join(', ')
  const said =
    status === 'completed'
      ? text
      : status === 'suspended'
        ? `It waits for a human: ${waiting || 'an answer'}.`
        : 'It was aborted.'
  return {
    content: [{ type: 'text', text: `${said}\n\n(session ${sessionId})` }],
    structuredContent: { sessionId, status: toolStatuses.find((one) => one === status) ?? 'aborted' },
  }
}
