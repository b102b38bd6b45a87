import { createAgent } from '@provost/agent'
import type { AgentOptions } from '@provost/agent'
import type { PendingInput } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

import { collect, expectLogged, expectSound, only, readLog } from '../run/run-check.ts'

const schema = { type: 'object', properties: { size: { type: 'string' } } } as const

function shop(
  more: Omit<Partial<AgentOptions>, 'output'> & { readonly timeoutMs?: number; readonly asks?: number } = {},
) {
  const { timeoutMs = 60_000, asks = 1, ...options } = more
  const signals: AbortSignal[] = []
  const order = tool({
    name: 'order',
    input: z.object({}),
    timeoutMs,
    async execute(_, ctx) {
      signals.push(ctx.signal)
      const questions = Array.from({ length: asks }, (__, n) => ctx.ask({ message: `What size? ${n}`, schema }))
      return JSON.stringify(await Promise.all(questions))
    },
  })
  const agent = createAgent({
    name: 'shop',
    model: scriptedModel(
      [
        ({ messages }) =>
          messages.some(({ role }) => role === 'tool')
            ? { text: JSON.stringify(messages.at(-1)?.content) }
            : { toolCalls: [{ name: 'order' }] },
      ],
      { after: 'repeat-last' },
    ),
    tools: [order],
    ...options,
  })
  return { agent, signals }
}

describe('a question of a running tool', () => {
  test('is reported, waits in the log, and continues with the answer that the stream gets', async () => {
    const store = memoryStore()
    const { agent } = shop({ store })
    const stream = agent.stream('go')
    const events = []
    for await (const event of stream) {
      events.push(event)
      if (event.type === 'input.requested') await stream.resolve({ inputs: [{ id: event.id, value: { size: 'L' } }] })
    }
    const result = await stream.result
    expectSound({ events, result, runId: stream.runId })
    await expectLogged(store, result)
    expect(result.text).toContain('\\"size\\":\\"L\\"')
    expect(only(events, 'input.requested')).toMatchObject([
      { message: 'What size? 0', schema, toolName: 'order', agent: 'shop', expiresAt: expect.any(Number) },
    ])
    expect(only(events, 'input.resolved')).toMatchObject([{ by: 'caller', toolName: 'order' }])
    expect((await readLog(store, result.sessionId)).filter(({ type }) => type === 'wait')).toMatchObject([
      { kind: 'input', reason: 'What size? 0', schema, deadline: expect.any(Number) },
    ])
    expect(result.pending.inputs).toEqual([])
  })

  test('is answered in process, each of several by itself', async () => {
    const asked: PendingInput[] = []
    const { agent } = shop({ asks: 3 })
    const { text } = await agent.run('go', {
      onInput: async (input) => {
        asked.push(input)
        return { size: input.message.at(-1) ?? '' }
      },
    })
    expect(asked).toHaveLength(3)
    expect(text.replaceAll('\\"', "'")).toContain("[{'size':'0'},{'size':'1'},{'size':'2'}]")
  })

  test('that onInput leaves open, or throws at, is for others', async () => {
    const { agent } = shop({ asks: 2 })
    const session = await agent.createSession({
      onInput: ({ message }) => {
        if (message.endsWith('1')) throw new Error('not mine')
      },
    })
    const errors: unknown[] = []
    session.on('agent.error', ({ error, source }) => errors.push([error.message, source.name]))
    session.on('input.requested', ({ id }) => session.resolve({ inputs: [{ id, value: id.endsWith('1') }] }))
    session.send('go')
    expect((await session.waitForIdle())?.text).toContain('[true,false]')
    expect(errors).toEqual([['not mine', 'onInput']])
    expect(session.pending.inputs).toEqual([])
  })

  test('is listed in session.pending and takes the first answer delivered', async () => {
    const { ephemeral: _, ...store } = memoryStore()
    const { agent } = shop({ store })
    const session = await agent.createSession({ id: 's' })
    const asked = Promise.withResolvers<string>()
    session.on('input.requested', ({ token }) => asked.resolve(token))
    session.send('go')
    const token = await asked.promise
    expect(session.pending.inputs).toMatchObject([{ id: token, message: 'What size? 0', schema }])
    expect(session.status).toBe('running')
    expect(await store.deliver('s', token, { size: 'M' }, 'ann')).toBe('accepted')
    await expect(session.resolve({ inputs: [{ id: token, value: 'XL' }] })).rejects.toMatchObject({
      code: 'already-decided',
    })
    expect((await session.waitForIdle())?.text).toContain('M')
    const resolved = (await readLog(store, 's')).filter((entry) => entry.type === 'resolved')
    expect(resolved.slice(1)).toMatchObject([{ token, value: { size: 'M' }, by: 'ann' }])
  })

  test('fails at once in a run where no answer can arrive', async () => {
    const { text, status } = await shop().agent.run('go')
    expect(status).toBe('completed')
    expect(text).toContain('The run has no handler for the question of order.')
  })

  test('without an answer ends before its call does', async () => {
    const { agent } = shop({ timeoutMs: 200 })
    const seen = await collect(agent.stream('go'))
    const { events, result } = seen
    expectSound(seen)
    expect(result.text).toContain('The question timed out: What size? 0')
    expect(only(events, 'input.resolved')).toMatchObject([{ by: 'deadline' }])
    expect(only(events, 'tool.execute.error')).toMatchObject([{ error: { code: 'input-expired' } }])
  })

  test('ends with its run', async () => {
    const { agent, signals } = shop()
    const stream = agent.stream('go')
    for await (const event of stream) if (event.type === 'input.requested') void stream.abort()
    const result = await stream.result
    expect(result).toMatchObject({ status: 'aborted', pending: { inputs: [] } })
    expect(signals.map(({ aborted }) => aborted)).toEqual([true])
  })

  test.each([
    ['is put again where the call may run again', { idempotent: true }, 'completed'],
    ['is gone where the call is uncertain', {}, 'suspended'],
  ] as const)('after a crash %s', async (_, more, status) => {
    const { ephemeral: __, ...store } = memoryStore()
    const made = () =>
      shop({
        store,
        tools: [
          tool({
            name: 'order',
            input: z.object({}),
            ...more,
            execute: async (___, ctx) => JSON.stringify(await ctx.ask({ message: 'What size?' })),
          }),
        ],
      }).agent
    const first = await made().createSession({ id: 's' })
    const asked = Promise.withResolvers<string>()
    first.on('input.requested', ({ id }) => asked.resolve(id))
    first.send('go')
    const old = await asked.promise
    for (const entry of await readLog(store, 's'))
      if (entry.type === 'call' && entry.op === 'started') await store.release('s', entry.fence)

    const session = await made().resumeSession('s', { onInput: () => 'L' })
    expect(session.pending.inputs).toMatchObject([{ id: old }])
    const seen = await collect(session.resume())
    const { events, result } = seen
    expectSound(seen)
    expect(result).toMatchObject({ status, pending: { inputs: [] } })
    const requested = only(events, 'input.requested').map(({ id }) => id)
    expect(requested).toHaveLength(status === 'completed' ? 1 : 0)
    expect(requested).not.toContain(old)
    void first.abort()
  })
})
