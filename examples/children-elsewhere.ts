// Children on any worker: each is a session of its own, while the run that spawned them rests. Here two workers share a file;
// in production each is a process, on any machine.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { createAgent, tool, z } from 'provost'
import { createWorker } from 'provost/server'
import { sqliteStore } from 'provost/sqlite'
import { scriptedModel } from 'provost/testing'

const folder = mkdtempSync(join(tmpdir(), 'provost-example-'))
const store = sqliteStore(join(folder, 'sessions.db'), { pollMs: 5 })

const reader = createAgent({
  name: 'reader',
  instructions: 'Say in one line what the page is about.',
  model: process.env.PROVOST_MODEL ?? scriptedModel([{ text: 'About bees.' }], { after: 'repeat-last' }),
  store,
})

const readAll = tool({
  name: 'read_all',
  description: 'Reads pages, all at once.',
  effect: 'none',
  composite: true,
  input: z.object({ pages: z.array(z.string()).max(50) }),
  async execute({ pages }, ctx) {
    const { output, children } = await ctx.fanOut({
      children: pages.map((page) => ({ agent: reader, input: page, key: page })),
      mergeStrategy: { kind: 'concat', separator: ' ' },
      perBudget: { tokens: 5_000 },
      where: 'any',
    })
    return `${children.length} pages: ${output}`
  },
})

const call = { toolCalls: [{ name: 'read_all', input: { pages: ['/a', '/b', '/c'] } }] }
const lead = createAgent({
  name: 'lead',
  model: process.env.PROVOST_MODEL ?? scriptedModel([call, { text: 'All three are about bees.' }]),
  tools: [readAll],
  store,
})

// Each worker serves the agents of the children and those that call them.
const workers = [1, 2].map(() => createWorker({ agents: [lead, reader], store, concurrency: 2, pollMs: 20 }))

const session = await lead.createSession({ id: 'news', principal: { id: 'ann' } })
await session.close()
await store.deliver('news', 'send/1', { mode: 'queue', input: 'What do /a, /b and /c say?' }, 'ann')

const ended = async (): Promise<boolean> => {
  for await (const entry of store.read('news')) if (entry.type === 'run' && entry.op === 'ended') return true
  return false
}
while (!(await ended())) await new Promise((resolve) => setTimeout(resolve, 20))
await Promise.all(workers.map((worker) => worker.close()))

const sessions: string[] = []
for await (const { agent, status } of store.list()) sessions.push(`${agent} ${status}`)
console.log(sessions.join(', ')) // → lead idle, reader idle, reader idle, reader idle
const { messages } = await lead.resumeSession('news')
console.log(messages.at(-1)?.content[0]) // → { type: 'text', text: 'All three are about bees.' }
await store.close()
rmSync(folder, { recursive: true })
