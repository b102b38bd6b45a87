import { createAgent, RunState } from '@provost/agent'
import type { Effect, Json, SessionStore, UncertainDecision } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import type { ScriptedPrompt, ScriptedStep } from '@provost/testing'
import { tool } from '@provost/tools'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

import { collect, expectLogged, expectSound, only, readLog } from '../run/run-check.ts'

/** The second process of a run whose first one died while a tool was running. */
async function afterDeathIn(options: { readonly effect: Effect; readonly idempotent?: boolean }) {
  const store = memoryStore()
  const keys: string[] = []
  const model = () =>
    scriptedModel([
      ({ messages }: ScriptedPrompt): ScriptedStep =>
        messages.some(({ role }) => role === 'tool')
          ? { text: JSON.stringify(messages.at(-1)?.content) }
          : { toolCalls: [{ name: 'act', input: { n: 1 } }] },
    ])
  const agentOn = (on: SessionStore, dies?: () => void) =>
    createAgent({
      name: 'actor',
      model: model(),
      store: on,
      tools: [
        tool({
          name: 'act',
          input: z.object({ n: z.number() }),
          ...options,
          execute({ n }, { idempotencyKey }): Promise<Json> | Json {
            keys.push(idempotencyKey)
            dies?.()
            return dies ? new Promise(() => {}) : { did: n }
          },
        }),
      ],
    })

  const died = Promise.withResolvers<void>()
  const first = agentOn(store, died.resolve)
  const stream = first.stream('Act.', { sessionId: 'session' })
  await died.promise
  // The lease of a dead process runs out; here it is given back for it.
  const entries = await readLog(store, 'session')
  for (const entry of entries) {
    if (entry.type === 'call' && entry.op === 'started') await store.release('session', entry.fence)
  }
  const [started] = entries
  if (started?.type !== 'run' || started.op !== 'started') throw new Error('the log begins with its run')
  const cursor = { sessionId: 'session', runId: stream.runId, offset: entries.length }
  const json = { v: 1, manifest: started.manifest, agent: 'actor', cursor }
  const agent = agentOn(store)
  return { agent, store, keys, state: RunState.fromJSON(json, agent), kill: () => void stream.abort() }
}

describe('a call that a process died in', () => {
  test.for<[string, { effect: Effect; idempotent?: boolean }]>([
    ['reads only', { effect: 'read' }],
    ['does nothing outside', { effect: 'none' }],
    ['is idempotent', { effect: 'egress', idempotent: true }],
  ])('runs again unasked, with the same key, where its tool %s', async ([, options]) => {
    const { agent, store, keys, state, kill } = await afterDeathIn(options)
    const seen = await collect(agent.stream(state))
    expectSound(seen)
    await expectLogged(store, seen.result)
    expect(seen.result).toMatchObject({ status: 'completed' })
    expect(seen.result.text).toContain('"did":1')
    expect(keys).toHaveLength(2)
    expect(new Set(keys).size).toBe(1)
    kill()
  })

  test.for<Effect>(['write', 'egress'])(
    'is uncertain and does not run again when its tool may have had a %s effect',
    async (effect) => {
      const { agent, store, keys, state, kill } = await afterDeathIn({ effect })
      const seen = await collect(agent.stream(state))
      expectSound(seen)
      await expectLogged(store, seen.result)
      expect(seen.result.status).toBe('suspended')
      expect(seen.result.pending.uncertain).toMatchObject([
        { toolName: 'act', input: { n: 1 }, agent: 'actor', startedAt: expect.any(Number) },
      ])
      expect(only(seen.events, 'tool.uncertain')).toMatchObject([{ toolName: 'act', input: { n: 1 } }])
      expect(keys).toHaveLength(1)
      kill()
    },
  )

  test.for<[Omit<UncertainDecision, 'callId'>, string, number]>([
    [{ decision: 'retry' }, '"did":1', 2],
    [{ decision: 'done', output: { did: 'before' } }, '"did":"before"', 1],
    [{ decision: 'done' }, '"value":null', 1],
    [{ decision: 'fail' }, 'unknown whether', 1],
  ])('continues as decided: %j', async ([decision, said, runs]) => {
    const { agent, store, keys, state, kill } = await afterDeathIn({ effect: 'write' })
    const waiting = await agent.run(state)
    const uncertain = waiting.pending.uncertain.map(({ callId }) => ({ callId, ...decision }))
    const seen = await collect(agent.stream(waiting.state, { uncertain }))
    expectSound(seen)
    await expectLogged(store, seen.result)
    expect(seen.result).toMatchObject({ status: 'completed', pending: { uncertain: [] } })
    expect(seen.result.text).toContain(said)
    expect(keys).toHaveLength(runs)
    expect(new Set(keys).size).toBe(1)
    kill()
  })

  test('is decided once: a second word changes nothing', async () => {
    const { agent, keys, state, kill } = await afterDeathIn({ effect: 'write' })
    const waiting = await agent.run(state)
    const [pending] = waiting.pending.uncertain
    const decide = (decision: 'retry' | 'fail') =>
      agent.run(waiting.state, { uncertain: [{ callId: pending?.callId ?? '', decision }] })
    const first = await decide('retry')
    const second = await decide('retry')
    expect([first.status, second.status]).toEqual(['completed', 'completed'])
    expect(second.messages).toEqual(first.messages)
    expect(keys).toHaveLength(2)
    kill()
  })
})
