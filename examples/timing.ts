// An extension that times every model and tool call: `around` encloses the thing itself. The times go to stderr, for they differ.
import { setTimeout as sleep } from 'node:timers/promises'

import { createAgent, defineExtension, tool, z } from 'provost'
import { scriptedModel } from 'provost/testing'

const times = new Map<string, number[]>()

const timing = defineExtension({
  name: 'timing',
  hooks: {
    async around(op, next) {
      if (op.kind !== 'model' && op.kind !== 'tool') return next()
      const name = op.kind === 'model' ? op.model : op.toolName
      const start = performance.now()
      try {
        return await next()
      } finally {
        times.set(name, [...(times.get(name) ?? []), performance.now() - start])
      }
    },
  },
})

const forecast = tool({
  name: 'forecast',
  effect: 'read',
  input: z.object({ city: z.string() }),
  execute: async ({ city }, ctx) => {
    await sleep(20, undefined, { signal: ctx.signal })
    return `Rain in ${city}.`
  },
})

const model =
  process.env.PROVOST_MODEL ??
  scriptedModel([
    { toolCalls: ['Ulm', 'Oslo'].map((city) => ({ name: 'forecast', input: { city } })) },
    { text: 'Take an umbrella to both.' },
  ])

const agent = createAgent({ name: 'weather', model, tools: [forecast], extensions: [timing] })
const { text } = await agent.run('What is the weather in Ulm and Oslo?')
console.log(text) // → Take an umbrella to both.

for (const [name, all] of times) {
  console.log(`${name}: ${all.length} calls`)
  console.error(all.map((ms) => `${ms.toFixed(1)} ms`).join(', '))
}
// → scripted/scripted-model: 2 calls
// → forecast: 2 calls
