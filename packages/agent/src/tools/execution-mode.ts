import type { ToolInfo } from '@provost/core'

import type { ResolvedAgent } from '../types/resolved-agent.ts'
import type { CallState } from '../types/session-state.ts'

/** Whether a call that may have taken effect is repeated without a decision. */
export function mayRepeat(tool: ToolInfo): boolean {
  return tool.idempotent || tool.composite || tool.effect === 'none' || tool.effect === 'read'
}

/** Returns whether a call runs beside others or alone. Default `parallel`. */
export function executionMode(agent: ResolvedAgent, call: CallState): 'parallel' | 'sequential' {
  return agent.tools.get(call.part.toolName)?.['~tool'].executionMode ?? 'parallel'
}
