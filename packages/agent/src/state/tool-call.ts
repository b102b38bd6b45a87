import type { Tool, ToolCall } from '@provost/core'

import type { ResolvedAgent } from '../types/resolved-agent.ts'
import type { CallState } from '../types/session-state.ts'

/** Returns a call in the form that hooks and drivers receive. */
export function toolCall(agent: ResolvedAgent, call: CallState): ToolCall {
  const { part, args, label, parentCallId, flow } = call
  const shared = { callId: part.callId, tool: agent.info(part.toolName), input: args, label }
  return parentCallId === undefined ? shared : { ...shared, parentCallId, ...(flow && { flow }) }
}

/** Returns the name of a tool in the registry, which may have renamed it. */
export function registeredName(agent: ResolvedAgent, tool: Pick<Tool, '~tool' | 'name'>): string {
  const known = agent.tools.get(tool.name)
  if (known && known['~tool'] === tool['~tool']) return tool.name
  for (const [name, one] of agent.tools) if (one['~tool'] === tool['~tool']) return name
  return tool.name
}
