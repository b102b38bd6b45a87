/** Prints how many bytes stay of a run of as many steps as it is told, and of one of a fifth of them. */
import { setTimeout as sleep } from 'node:timers/promises'

import { createAgent } from '@provost/agent'
import { memoryStore } from '@provost/sessions'

import { look, model } from '../hooks/walker.ts'

const { gc } = globalThis
if (!gc) throw new Error('This needs node --expose-gc.')
const collectGarbage = gc

/** What timers hold goes with them. */
async function settled(): Promise<number> {
  for (let n = 0; n < 2; n++) {
    await sleep(20)
    collectGarbage()
  }
  return process.memoryUsage().heapUsed
}

/** All that was made stays: what the heap was after one is what it was before the next. */
const kept: unknown[] = []
let before = await settled()

async function heldBy(steps: number): Promise<number> {
  const store = memoryStore()
  const agent = createAgent({ name: 'walker', model: model(steps), tools: [look], maxSteps: steps, store })
  const result = await agent.run('Go.')
  kept.push(agent, store, result)
  const after = await settled()
  const held = after - before
  before = after
  // All of it is still there: the result, the agent, and the log in its store.
  let entries = 0
  for await (const _ of store.read(result.sessionId)) entries++
  if (result.messages.length !== 2 * steps || entries === 0) throw new Error('the run is not whole')
  return held
}

const most = Number(process.argv[2])
await heldBy(most / 10)
// What is freed in between takes away from what is held: the most is nearest to the truth.
const some = Math.max(await heldBy(most / 5), await heldBy(most / 5), await heldBy(most / 5))
process.stdout.write(JSON.stringify({ some, many: await heldBy(most) }))
