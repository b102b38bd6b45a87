import type { Agent } from '@provost/agent'
import { resolvedAgentOf } from '@provost/agent/internal'
import type { ToolInfo } from '@provost/core'

/** What a policy reads of an agent: its tools are code, so no log contains them. */
export interface KnownAgent {
  readonly tools: readonly ToolInfo[]
  readonly modelName: string
  /** Absent where a function makes the instructions: then the log has them. */
  readonly instructions?: string
  readonly instructed: boolean
}

/** The agents of recorded sessions, by name. */
export type KnownAgents = ReadonlyMap<string, KnownAgent>

/**
 * Returns what a policy reads of agents.
 *
 * @param tools tools that come from a server, which is not called offline.
 */
export function knownAgents(agents: readonly Agent<unknown, never>[], tools: readonly ToolInfo[]): KnownAgents {
  return new Map(
    agents.map((agent) => {
      const { name, infos, instructions, instruct, modelName } = resolvedAgentOf(agent)
      const own = new Set(infos.map((tool) => tool.name))
      const all = [...infos, ...tools.filter((tool) => !own.has(tool.name))]
      const known = { tools: all, modelName, instructed: instruct !== undefined }
      return [name, { ...known, ...(instructions !== undefined && { instructions }) }]
    }),
  )
}
