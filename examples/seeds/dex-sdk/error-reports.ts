// Each failure is one event, with the place that failed as its source. The run ends with the same error, if it ends.
import assert from 'node:assert/strict'

import type { AgentOptions } from 'provost'
import { createAgent, defineExtension, memoryStore, tool, z } from 'provost'
import type { ScriptedEntry } from 'provost/testing'
import { scriptedModel } from 'provost/testing'

const broken = (): never => {
  throw new Error('broken')
}
const look = tool({ name: 'look', effect: 'read', input: z.object({}), execute: broken })
const inner = memoryStore()
let appends = 0
const full = {
  ...inner,
  append: async (...args: Parameters<typeof inner.append>) => (++appends > 2 ? broken() : inner.append(...args)),
}

/** Runs an agent with this fault, and tells where the failure is said to come from. */
async function sourceOf(fault: Partial<AgentOptions>, step: ScriptedEntry = { text: 'Fine.' }): Promise<string> {
  const agent = createAgent({ name: 'desk', model: scriptedModel([step, { text: 'Fine.' }]), tools: [look], ...fault })
  const seen: string[] = []
  const stream = agent.stream('Go.')
  for await (const event of stream) {
    if (event.type === 'agent.error') seen.push(`${event.source.kind} ${event.source.name}: ${event.error.code}`)
    if (event.type === 'tool.execute.error') seen.push(`${event.toolName}: ${event.error.code}`)
  }
  const { status, error } = await stream.result
  if (error) assert.ok(seen.at(-1)?.endsWith(error.code))
  return `${seen.join(', ')}; ${status}`
}
const guard = (hooks: object) => ({ extensions: [defineExtension({ name: 'guard', hooks })] })
const looks = { toolCalls: [{ name: 'look' }] }
const refused = { error: Object.assign(new Error('Wrong key'), { status: 401 }) }

const model = 'scripted/scripted-model'
assert.equal(await sourceOf({}, refused), `model ${model}: auth; failed`)
assert.equal(await sourceOf({ output: z.object({ ok: z.boolean() }) }), `model ${model}: output-invalid; failed`)
assert.equal(await sourceOf({ orchestrator: broken }), 'orchestrator desk: orchestrator-failed; failed')
assert.equal(await sourceOf({ store: full }), 'store append: store-failed; failed')
assert.equal(await sourceOf({ maxSteps: 1 }, looks), 'look: tool-failed, loop desk: max-steps; failed')
assert.equal(await sourceOf(guard({ input: broken })), 'hook guard: hook-failed; failed')
const late = defineExtension({ name: 'late', init: broken })
assert.equal(await sourceOf({ extensions: [late] }), 'extension late: init-failed; failed')

// What a run can do without ends no run: a tool, a hook that only watches, a hook that denies by failing.
assert.equal(await sourceOf({}, looks), 'look: tool-failed; completed')
assert.equal(await sourceOf(guard({ 'run.end': broken })), 'hook guard: hook-failed; completed')
assert.equal(
  await sourceOf(guard({ 'tool.call': broken }), looks),
  'hook guard: hook-failed, look: tool-denied; completed',
)
console.log('ten failures, each with its source') // → ten failures, each with its source
