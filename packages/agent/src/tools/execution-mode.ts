import type { ToolInfo } from '@provost/core'

import type { ResolvedAgent } from '../types/resolved-agent.ts'
import type { CallState } from '../types/session-state.ts'

/** Whether a call that may have taken effect is repeated without a decision. */
export function mayRepeat(tool: ToolInfo): boolean {
  return tool.idempotent || tool.composite || tool.effect === 'none' || tool.effect === 'read'
}

/** Whether a call claims its effect before it starts. */
export function claimsEffect(agent: ResolvedAgent, call: CallState): boolean {
  return agent.tools.get(call.part.toolName)?.['~tool'].effectKey !== undefined
}

/** Returns calls in groups that run side by side. A sequential call is a group by itself. */
export function groupsOf(agent: ResolvedAgent, calls: readonly CallState[]): readonly (readonly CallState[])[] {
  const groups: CallState[][] = []
  let open: CallState[] | undefined
  for (const call of calls) {
    const isAlone = executionMode(agent, call) === 'sequential'
    if (open && !isAlone) open.push(call)
    else groups.push((open = [call]))
    if (isAlone) open = undefined
  }
  return groups
}

/** Returns whether a call runs beside others or alone. Default `parallel`. */
export function executionMode(agent: ResolvedAgent, call: CallState): 'parallel' | 'sequential' {
  return agent.tools.get(call.part.toolName)?.['~tool'].executionMode ?? 'parallel'
}
