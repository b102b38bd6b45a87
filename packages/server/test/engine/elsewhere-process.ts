// A worker that can be killed, of agents that fan out: node elsewhere-process.ts STORE EFFECTS
import { setTimeout as sleep } from 'node:timers/promises'

import { createAgent } from '@provost/agent'
import { createWorker } from '@provost/server'
import { postgresStore, sqliteStore } from '@provost/sessions'
import { effectFile, scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { z } from 'zod'

const [where = '', effects = ''] = process.argv.slice(2)
const store = where.startsWith('postgres') ? postgresStore(where, { connections: 4 }) : sqliteStore(where)
const outside = effectFile(effects)
const write = outside.effect('written')
const toolCount = (messages: readonly { readonly role: string }[]): number =>
  messages.filter(({ role }) => role === 'tool').length

const clerk = createAgent({
  name: 'clerk',
  store,
  leaseMs: 1_500,
  model: scriptedModel(
    [
      ({ messages }) =>
        toolCount(messages) < 2 ? { delayMs: 50, toolCalls: [{ name: 'write', input: {} }] } : { text: 'done' },
    ],
    { after: 'repeat-last' },
  ),
  tools: [
    tool({
      name: 'write',
      effect: 'write',
      input: z.object({}),
      // The file shows whether the call of a dead process took effect.
      lookup: (key) => {
        const line = outside.read().find((effect) => effect.key === key)
        return line && { output: line.output }
      },
      async execute(input, ctx) {
        await sleep(20)
        const output = await write(input, ctx)
        await sleep(20)
        return output
      },
    }),
  ],
})
const lead = createAgent({
  name: 'lead',
  store,
  leaseMs: 1_500,
  model: scriptedModel(
    [
      ({ messages }) =>
        toolCount(messages) < 2 ? { toolCalls: [{ name: 'share', input: {} }] } : { text: 'all done' },
    ],
    { after: 'repeat-last' },
  ),
  tools: [
    tool({
      name: 'share',
      effect: 'none',
      composite: true,
      input: z.object({}),
      async execute(_, ctx) {
        const children = ['a', 'b', 'c'].map((key) => ({ agent: clerk, input: 'Write.', key }))
        const { output } = await ctx.fanOut({
          children,
          mergeStrategy: 'concat',
          perBudget: { toolCalls: 10 },
          where: 'any',
        })
        return output
      },
    }),
  ],
})
createWorker({ agents: [lead, clerk], store, concurrency: 32, onError: () => {} })
process.stdout.write('ready\n')
setInterval(() => {}, 60_000)
