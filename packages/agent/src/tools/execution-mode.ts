import type { ToolInfo } from '@provost/core'

import type { ResolvedAgent } from '../types/resolved-agent.ts'
import type { CallState } from '../types/session-state.ts'

/** Whether a call that may have taken effect runs again unasked. */
export function mayRepeat(tool: ToolInfo): boolean {
  return tool.idempotent || tool.composite || tool.effect === 'none' || tool.effect === 'read'
}

/** How a call shares the time with others. */
export function executionMode(plan: ResolvedAgent, call: CallState): 'parallel' | 'sequential' {
  return plan.tools.get(call.part.toolName)?.['~tool'].executionMode ?? 'parallel'
}
