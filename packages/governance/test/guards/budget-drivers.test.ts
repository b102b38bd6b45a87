import { createAgent, RunState } from '@provost/agent'
import type { SessionStore } from '@provost/core'
import { budget } from '@provost/governance'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import type { ScriptedStep } from '@provost/testing'
import { tool } from '@provost/tools'
import { expect, test } from 'vitest'
import { z } from 'zod'

const sessionId = 'session'

/** A store whose process stands still before a call starts: its lease is free, and its appends fail once it wakes. */
function sleeping(store: SessionStore) {
  const asleep = Promise.withResolvers<void>()
  const awake = Promise.withResolvers<never>()
  awake.promise.catch(() => {})
  const held = new Map<string, number>()
  let sleeps = false
  const slow: SessionStore = {
    ...store,
    async lease(log, owner, ttlMs) {
      const lease = await store.lease(log, owner, ttlMs)
      if (lease !== 'busy') held.set(log, lease.fence)
      return lease
    },
    async append(log, entries, at) {
      if (!sleeps && entries.some((entry) => entry.type === 'call' && entry.op === 'started')) {
        sleeps = true
        for (const [one, fence] of held) await store.release(one, fence)
        asleep.resolve()
      }
      return sleeps ? awake.promise : store.append(log, entries, at)
    },
  }
  return { store: slow, asleep: asleep.promise, wake: () => awake.reject(new Error('the lease is lost')) }
}

test('a driver that lost its lease does not free the budget of the one that resumed its run', async () => {
  const store = memoryStore()
  const first = sleeping(store)
  const limits = budget({ toolCalls: 2 })
  let looks = 0
  let firstRun: Promise<unknown> = Promise.resolve()
  const look = tool({
    name: 'look',
    effect: 'read',
    input: z.object({}),
    async execute() {
      looks++
      first.wake()
      await firstRun
      return 'seen'
    },
  })
  /** Answers by what was said, so that it does not matter which driver asks. */
  const model = (calls: number, name: string, input: object) =>
    scriptedModel(
      [
        ({ messages }): ScriptedStep =>
          messages.filter(({ role }) => role === 'assistant').length < calls
            ? { toolCalls: [{ name, input }] }
            : { text: 'done' },
      ],
      { after: 'repeat-last' },
    )
  const child = createAgent({ name: 'child', model: model(3, 'look', {}), tools: [look] })
  const parent = (own: SessionStore) =>
    createAgent({
      name: 'parent',
      model: model(1, 'ask_child', { task: 'go' }),
      tools: [child.toTool({ name: 'ask_child', description: 'Asks.' })],
      extensions: [limits],
      store: own,
    })
  firstRun = parent(first.store)
    .run('go', { sessionId })
    .catch(() => {})
  await first.asleep

  let offset = 0
  let start: object = {}
  for await (const entry of store.read(sessionId)) {
    offset = entry.offset
    if (entry.type === 'run' && entry.op === 'started') start = { manifest: entry.manifest, runId: entry.runId }
  }
  const agent = parent(store)
  const state = { v: 1, ...start, agent: 'parent', cursor: { sessionId, ...start, offset } }
  const result = await agent.run(RunState.fromJSON(JSON.stringify(state), agent))
  expect(result.status).toBe('completed')
  expect(looks).toBe(1)
})
