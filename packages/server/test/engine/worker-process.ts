// A worker that can be killed: node worker-process.ts STORE EFFECTS STEPS
import { setTimeout as sleep } from 'node:timers/promises'

import { createAgent } from '@provost/agent'
import { createWorker } from '@provost/server'
import { postgresStore, sqliteStore } from '@provost/sessions'
import { effectFile, scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { z } from 'zod'

const [where = '', effects = '', steps = '3'] = process.argv.slice(2)
const store = where.startsWith('postgres') ? postgresStore(where, { connections: 4 }) : sqliteStore(where)
const outside = effectFile(effects)
const write = outside.effect('written')
const agent = createAgent({
  name: 'desk',
  store,
  leaseMs: 1_500,
  model: scriptedModel(
    [
      ({ messages }) =>
        messages.filter(({ role }) => role === 'tool').length < Number(steps)
          ? { delayMs: 100, toolCalls: [{ name: 'write', input: {} }] }
          : { text: 'done' },
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
createWorker({ agents: [agent], store, concurrency: 32, onError: () => {} })
process.stdout.write('ready\n')
setInterval(() => {}, 60_000)
