import type { AnySchema, Part, RunResult, Spawnable, Tool } from '@provost/core'
import { checkFilter, lazily, longestTimerMs, textOf, toJson } from '@provost/core'
import { rich, tool } from '@provost/tools'
import { z } from 'zod'

import { registerAgentTool } from '../definition/agent-registry.ts'
import { checkToTool } from '../definition/known-child-options.ts'
import { unfinished } from '../result/child-error.ts'
import type { ToToolOptions, AgentToolInput } from '../types/agent.ts'

/** Returns a tool that runs an agent as a child. The caller gives it its types. */
export function agentTool(
  agent: Spawnable,
  options: ToToolOptions & Partial<AgentToolInput<AnySchema>>,
  // oxlint-disable-next-line typescript/no-explicit-any -- the agent's type determines input and output
): Tool<any, any, any> {
  checkToTool(options)
  const { name, description, input, prompt, exposeTurns = false, timeoutMs = longestTimerMs } = options
  const { secrets, inheritSecrets, grant, where } = options
  const inputFilter = options.inputFilter && checkFilter(options.inputFilter)
  const made = tool({
    name,
    description,
    input: input ?? (inputFilter ? taskBeside() : taskAlone()),
    composite: true,
    // The effects of the child are those of its own calls, which are authorized.
    effect: 'none',
    timeoutMs,
    async execute(given: unknown, ctx) {
      const result = await ctx.spawn(agent, prompt ? prompt(given) : taskOf(given), {
        key: 'run',
        ...(secrets && { secrets }),
        ...(inheritSecrets && { inheritSecrets }),
        ...(inputFilter && { inputFilter }),
        ...(grant && { grant }),
        ...(where && { where }),
        exposeTurns,
      })
      if (result.status !== 'completed') throw unfinished(agent.name, result)
      return exposeTurns ? rich(result.output, { content: turnsOf(result) }) : result.output
    },
  })
  registerAgentTool(made, agent)
  return made
}

const taskAlone = lazily(() => taskSchema('All that the agent has to know: it sees nothing else.'))
const taskBeside = lazily(() =>
  taskSchema('What the agent is to do. It sees some of this conversation, but not who asks it or why.'),
)

function taskSchema(about: string): AnySchema {
  return z.object({ task: z.string().describe(about) })
}

function taskOf(given: unknown): string {
  return z.object({ task: z.string() }).parse(given).task
}

/** Returns the texts of a run's assistant messages, or its output if there are none. */
function turnsOf({ messages, output }: RunResult<unknown>): readonly Extract<Part, { type: 'text' }>[] {
  const turns = messages
    .filter(({ role }) => role === 'assistant')
    .map((message) => textOf(message))
    .filter((text) => text !== '')
  const texts = turns.length > 0 ? turns : [JSON.stringify(toJson(output))]
  return texts.map((text) => ({ type: 'text', text }))
}
