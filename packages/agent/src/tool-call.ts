import type { ToolCall } from '@provost/core'

import type { AgentPlan } from './agent-plan.ts'
import type { CallState } from './log-state.ts'

/** A call as hooks and drivers see it. */
export function toolCall(plan: AgentPlan, call: CallState): ToolCall {
  const { part, args, label, parentCallId } = call
  const shared = { callId: part.callId, tool: plan.info(part.toolName), input: args, label }
  return parentCallId === undefined ? shared : { ...shared, parentCallId }
}
