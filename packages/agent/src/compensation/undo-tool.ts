import type { CompensationContext, Json, Tool } from '@provost/core'
import { lazily, ProvostError } from '@provost/core'
import { parseInput, tool } from '@provost/tools'
import { z } from 'zod'

import { agentBehind, isAgent, resolvedAgentOf } from '../definition/agent-registry.ts'
import { targetOf } from '../definition/handoff.ts'
import type { ResolvedAgent } from '../types/resolved-agent.ts'

/** The tools of an agent, its handoff targets and the agents that its tools run, by agent and tool. */
export interface KnownTools {
  toolOf(agent: string, toolName: string): Tool | undefined
  /** The tools that undo effects: one for each tool with `compensate`. */
  readonly undoing: readonly Tool[]
}

/** Finds the tools of agents and of all agents that they can reach. The first agent of a name is taken. */
export function knownTools(agents: readonly ResolvedAgent[]): KnownTools {
  const found = new Map<string, ResolvedAgent>()
  const open = [...agents]
  for (let agent = open.shift(); agent; agent = open.shift()) {
    if (found.has(agent.name)) continue
    found.set(agent.name, agent)
    for (const handoff of agent.handoffs.values()) open.push(resolvedAgentOf(targetOf(handoff)))
    for (const one of agent.tools.values()) {
      const child = agentBehind(one)
      if (child && isAgent(child)) open.push(resolvedAgentOf(child))
    }
  }
  return {
    toolOf: (agent, toolName) => found.get(agent)?.tools.get(toolName),
    undoing: [...found.values()].flatMap(({ name, tools }) =>
      [...tools].flatMap(([toolName, one]) => (one['~tool'].compensate ? [undoTool(name, toolName, one)] : [])),
    ),
  }
}

/** Returns the name of the tool that undoes effects of another tool. */
export function undoName(agent: string, toolName: string): string {
  return `undo/${encodeURIComponent(agent)}/${encodeURIComponent(toolName)}`
}

/** Returns the key of a compensation in the ledger of effects: an effect is undone once. */
export function undoKey(call: { readonly log: string; readonly callId: string }): string {
  return `${call.log} ${call.callId}`
}

const undone = lazily(() => z.object({ effect: z.string(), input: z.unknown(), output: z.unknown() }))

function undoTool(agent: string, toolName: string, of: Tool): Tool {
  const { compensate, timeoutMs, secrets, executionMode } = of['~tool']
  return tool({
    name: undoName(agent, toolName),
    title: `Undo ${of.title ?? toolName}`,
    input: undone(),
    effect: of.effect,
    executionMode,
    ...(Number.isFinite(timeoutMs) && { timeoutMs }),
    ...(secrets && { secrets }),
    effectKey: ({ effect }) => effect,
    async execute({ input, output }, ctx) {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- arguments of a call are JSON
      const parsed = await parseInput(of, input as Json)
      if (!parsed.ok) throw new ProvostError(parsed.error.code, parsed.error.message, { hint: parsed.error.hint })
      const full: CompensationContext<unknown, unknown, string> = Object.assign(ctx, { input: parsed.value })
      return compensate?.(output, full)
    },
  })
}
