import type { ToolCall } from '@provost/core'

import type { ResolvedAgent } from '../types/resolved-agent.ts'
import type { CallState } from '../types/session-state.ts'

/** Returns a call in the form that hooks and drivers receive. */
export function toolCall(agent: ResolvedAgent, call: CallState): ToolCall {
  const { part, args, label, parentCallId } = call
  const shared = { callId: part.callId, tool: agent.info(part.toolName), input: args, label }
  return parentCallId === undefined ? shared : { ...shared, parentCallId }
}
