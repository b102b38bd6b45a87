import { appendFileSync, existsSync, readFileSync } from 'node:fs'

import type { Agent, SessionStore, Tool } from 'provost'
import { createAgent, tool, z } from 'provost'
import { codeMode } from 'provost/code-mode'
import { scriptedModel } from 'provost/testing'

/** Milliseconds that each answer of the model takes. */
export const modelMs = 60
/** Model steps of a session. */
export const steps = 6
/** What a session pays, each once. */
export const effectsOfSession = 4
/** Milliseconds after which another process may continue a run whose process died. */
export const leaseMs = 1_500

/**
 * Returns the agent of the cluster: a session pays by itself, pays after an approval, asks two helpers, and pays from a script. What it
 * pays is a line in a file, which nothing removes.
 *
 * @param outside the file: a line for each effect, its key first.
 */
export function createDesk(store: SessionStore, outside: string): Agent {
  const pay = payingTool('pay', outside)
  const transfer = payingTool('transfer', outside)
  const research = researchTool()
  const calls = [
    { name: 'pay', input: { amount: 10 } },
    { name: 'research', input: {} },
    { name: 'pay', input: { amount: 80 } },
    { name: 'code_execute', input: { source: 'return await tools.transfer({ amount: 20 })' } },
    { name: 'pay', input: { amount: 30 } },
  ]
  return createAgent({
    name: 'desk',
    model: scriptedModel(
      [
        ({ messages }) => {
          const call = calls[messages.filter(({ role }) => role === 'assistant').length]
          return { delayMs: modelMs, ...(call ? { toolCalls: [call] } : { text: 'All paid.' }) }
        },
      ],
      { after: 'repeat-last' },
    ),
    tools: [pay, transfer, research],
    extensions: [codeMode({ include: ['transfer'] })],
    leaseMs,
    store,
  })
}

/** Returns a tool that pays: a line in a file, which nothing removes. It asks for more than 50. */
export function payingTool(name: string, outside: string): Tool {
  const done = (key: string): boolean => existsSync(outside) && readFileSync(outside, 'utf8').includes(`${key} `)
  return tool({
    name,
    effect: 'write',
    input: z.object({ amount: z.number() }),
    needsApproval: ({ amount }) => amount > 50,
    // A call whose process died is looked up instead of repeated.
    lookup: (key) => (done(key) ? { output: 'paid' } : undefined),
    execute(_, { idempotencyKey, session }) {
      appendFileSync(outside, `${idempotencyKey} ${session.id}\n`)
      return 'paid'
    },
  })
}

/** Returns a tool that asks two helpers at once. */
export function researchTool(): Tool {
  const helper = createAgent({
    name: 'helper',
    model: scriptedModel([{ text: 'seen', delayMs: modelMs }], { after: 'repeat-last' }),
  })
  return tool({
    name: 'research',
    composite: true,
    effect: 'none',
    input: z.object({}),
    async execute(_, ctx) {
      const children = ['a', 'b'].map((key) => ({ agent: helper, input: `Look at ${key}.`, key }))
      const { output } = await ctx.fanOut({ children, mergeStrategy: 'concat' })
      return output
    },
  })
}
