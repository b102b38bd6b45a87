import type { ToolCall } from '@provost/core'

import type { AgentPlan } from './agent-plan.ts'
import type { CallState } from './log-state.ts'

/** A call as hooks and drivers see it. */
export function toolCall(plan: AgentPlan, call: CallState): ToolCall {
  return { callId: call.part.callId, tool: plan.info(call.part.toolName), input: call.args, label: call.label }
}
