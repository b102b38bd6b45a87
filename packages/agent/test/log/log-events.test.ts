import { createAgent, logEvents } from '@provost/agent'
import type { AgentEvent } from '@provost/core'
import { defineExtension } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { z } from 'zod'

const echo = tool({ name: 'echo', effect: 'read', input: z.object({ n: z.number() }), execute: ({ n }) => `${n}` })
const pay = tool({ name: 'pay', needsApproval: true, input: z.object({}), execute: () => 'paid' })
const far = tool({ name: 'far', input: z.object({}) })

const call = fc.constantFrom(
  { name: 'echo', input: { n: 1 } },
  { name: 'echo', input: {} },
  { name: 'pay' },
  { name: 'far' },
  { name: 'none' },
)
const step = fc.record({
  text: fc.array(fc.constantFrom('a', 'b'), { maxLength: 3 }),
  toolCalls: fc.array(call, { maxLength: 3 }),
})

/** Ids of waits stand for themselves, all others for a place in the log. */
const lasting = (events: readonly AgentEvent[]): readonly string[] =>
  events.flatMap(({ id, type }) => (id.includes('~') ? [] : [`${type} ${id}`]))

test('the log of a session gives the events that last, with the ids they had live', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 3 }), async (steps) => {
      const store = memoryStore()
      const model = scriptedModel([...steps, { text: 'end' }], { after: 'repeat-last' })
      const agent = createAgent({ name: 'a', model, tools: [echo, pay, far], store, maxSteps: 6 })
      const session = await agent.createSession()
      const live: AgentEvent[] = []
      session.on('*', (event) => live.push(event))
      session.send('go')
      await session.waitForIdle().catch(() => {})
      for (let i = 0; i < 4 && session.status === 'suspended'; i++) {
        const { approvals, remoteCalls } = session.pending
        await session.resolve({
          approvals: approvals.map(({ id }) => ({ id, decision: 'approve' as const })),
          toolResults: remoteCalls.map(({ callId }) => ({ callId, output: 'there' })),
        })
        await session.waitForIdle().catch(() => {})
      }
      const events = logEvents(session.id)
      const read: AgentEvent[] = []
      for await (const entry of store.read(session.id)) read.push(...events.take(entry).map(({ event }) => event))
      read.push(...events.end().map(({ event }) => event))
      expect(lasting(read)).toEqual(lasting(live))
      expect(read.map(({ seq }) => seq)).toEqual(read.map((_, index) => index + 1))
    }),
  )
})

test('the log of a child gives its events that last, with the ids and the runs above that they had live', async () => {
  const store = memoryStore()
  const child = createAgent({
    name: 'child',
    model: scriptedModel([{ toolCalls: [{ name: 'echo', input: { n: 1 } }] }, { text: 'x' }]),
    tools: [echo],
  })
  const live: AgentEvent[] = []
  const listening = defineExtension({
    name: 'listening',
    scope: 'tree',
    observer: true,
    hooks: { event: (event) => void live.push(event) },
  })
  const model = scriptedModel([{ toolCalls: [{ name: 'child', input: { task: 'go' } }] }, { text: 'end' }])
  const tools = [child.toTool({ name: 'child', description: 'asks a child' })]
  const { sessionId, runId } = await createAgent({ name: 'a', model, tools, store, extensions: [listening] }).run('go')
  const children: { log: string; parents: string[] }[] = []
  const named: string[] = []
  for await (const entry of store.read(sessionId)) {
    if (entry.type === 'child' && entry.op === 'spawned') children.push({ log: entry.log, parents: [entry.runId] })
    if (entry.type === 'run' && entry.op === 'started') named.push(...entry.manifest.extensions)
  }
  const [{ log, parents } = { log: '', parents: [] }] = children
  const events = logEvents(sessionId, { log, parents })
  const told: AgentEvent[] = []
  for await (const entry of store.read(log)) told.push(...events.take(entry).map(({ event }) => event))
  told.push(...events.end().map(({ event }) => event))
  expect(named).not.toContain('listening')
  const below = live.filter((event) => event.parents.length > 0)
  expect(lasting(told)).toEqual(lasting(below))
  expect(told.every((event) => event.parents.join() === runId)).toBe(true)
})
