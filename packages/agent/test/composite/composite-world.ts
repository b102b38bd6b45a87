import { createAgent } from '@provost/agent'
import type { AgentOptions } from '@provost/agent'
import type { CompositeContext, Tool } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { z } from 'zod'

/** A composite without arguments. */
export function script(
  execute: (ctx: CompositeContext) => unknown,
  more: { timeoutMs?: number; name?: string } = {},
): Tool {
  const { name = 'script', ...rest } = more
  return tool({ name, composite: true, input: z.object({}), ...rest, execute: (_, ctx) => execute(ctx) })
}

export const add = tool({
  name: 'add',
  input: z.object({ a: z.number(), b: z.number() }),
  effect: 'none',
  execute: ({ a, b }) => a + b,
})

/** An agent whose model calls the script once and then says what it was told. */
export function caller(tools: readonly Tool[], more: Omit<Partial<AgentOptions>, 'output' | 'tools'> = {}) {
  const store = more.store ?? memoryStore()
  const agent = () =>
    createAgent({
      name: 'a',
      model: scriptedModel(
        [
          ({ messages }) =>
            messages.at(-1)?.role === 'tool'
              ? { text: JSON.stringify(messages.at(-1)) }
              : { toolCalls: [{ name: 'script', input: {} }] },
        ],
        { after: 'repeat-last' },
      ),
      ...more,
      tools,
      store,
    })
  return { agent, store }
}
