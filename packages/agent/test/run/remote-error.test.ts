import { createAgent } from '@provost/agent'
import type { AgentOptions } from '@provost/agent'
import type { RemoteResult } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { secretRef, tool } from '@provost/tools'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'

import { collect, expectLogged, expectSound, only, readLog } from './run-check.ts'

const far = tool({ name: 'far', input: z.object({ n: z.number() }), returns: { integrity: 'trusted' } })
const reset = { message: 'the printer is offline', code: 'printer-offline' }

/** An agent that makes `count` remote calls in one step; `told` has what the model received for each. */
function printing(count: number, more: Pick<AgentOptions, 'secrets'> = {}) {
  const told: unknown[] = []
  const store = memoryStore()
  const agent = createAgent({
    name: 'desk',
    model: scriptedModel([
      { toolCalls: Array.from({ length: count }, (_, n) => ({ name: 'far', input: { n } })) },
      ({ messages }) => {
        const results = messages.findLast(({ role }) => role === 'tool')?.content ?? []
        for (const part of results) if (typeof part !== 'string' && part.type === 'tool-result') told.push(part.output)
        return { text: 'ok' }
      },
    ]),
    tools: [far],
    store,
    ...more,
  })
  return { agent, store, told }
}

describe('the error of a remote call', () => {
  test('is one tool.execute.error, an error for the model with its code, and untrusted', async () => {
    const { agent, store, told } = printing(1)
    const first = await agent.run('Print.')
    const [call] = first.pending.remoteCalls
    const seen = await collect(
      agent.stream(first.state, { toolResults: [{ callId: call?.callId ?? '', error: reset }] }),
    )
    expectSound(seen)
    expect(seen.result).toMatchObject({ status: 'completed', text: 'ok' })
    expect(only(seen.events, 'tool.execute.error')).toMatchObject([{ toolName: 'far', error: reset }])
    expect(only(seen.events, 'tool.execute.end')).toEqual([])
    expect(only(seen.events, 'tool.remote.resolved')).toHaveLength(1)
    expect(told).toEqual([{ type: 'error-text', value: 'printer-offline: the printer is offline' }])
    const log = await readLog(store, seen.result.sessionId)
    expect(log.find((entry) => entry.type === 'call' && entry.op === 'settled')).toMatchObject({
      outcome: 'error',
      via: 'remote',
      error: reset,
      label: { integrity: 'untrusted' },
    })
    await expectLogged(store, seen.result)
  })

  test('does not affect the output of another call of the same step', async () => {
    const { agent, told } = printing(2)
    const { state, pending } = await agent.run('Print.')
    const [one, two] = pending.remoteCalls.map(({ callId }) => callId)
    const toolResults: RemoteResult[] = [
      { callId: one ?? '', error: { message: 'no paper' } },
      { callId: two ?? '', output: { pages: 2 } },
    ]
    const seen = await collect(agent.stream(state, { toolResults }))
    expectSound(seen)
    expect(told).toEqual([
      { type: 'error-text', value: 'no paper' },
      { type: 'json', value: { pages: 2 } },
    ])
    expect(only(seen.events, 'tool.execute.error')).toMatchObject([
      { error: { code: 'tool-failed', message: 'no paper' } },
    ])
  })

  test('reaches a waiting session through resolve and through the inbox of the store', async () => {
    for (const door of ['resolve', 'deliver'] as const) {
      const { agent, store, told } = printing(1)
      const session = await agent.createSession()
      session.send('Print.')
      await session.waitForIdle()
      const [call] = session.pending.remoteCalls
      const { callId = '', id = '' } = call ?? {}
      if (door === 'resolve') await session.resolve({ toolResults: [{ callId, error: reset }] })
      else {
        await store.deliver(session.id, id, { '~error': reset }, 'hook')
        await session.resume().result
      }
      await session.waitForIdle()
      expect(told).toEqual([{ type: 'error-text', value: 'printer-offline: the printer is offline' }])
      await session.close()
    }
  })

  test('is scrubbed, and shortened only then', async () => {
    const secret = 'kd83-9fjq-02ls-77xm'
    process.env['PROVOST_TEST_REMOTE_KEY'] = secret
    onTestFinished(() => void delete process.env['PROVOST_TEST_REMOTE_KEY'])
    const { agent, store, told } = printing(1, { secrets: { KEY: secretRef('env:PROVOST_TEST_REMOTE_KEY') } })
    const { state, pending } = await agent.run('Print.')
    const error = { message: `${'x'.repeat(3_990)}${secret}${'y'.repeat(9_000)}`, code: `no ${secret}` }
    const { sessionId } = await agent.run(state, {
      toolResults: [{ callId: pending.remoteCalls[0]?.callId ?? '', error }],
    })
    expect(JSON.stringify(told)).not.toContain('kd83')
    expect(JSON.stringify(told).length).toBeLessThan(4_300)
    expect(JSON.stringify(await readLog(store, sessionId))).not.toContain('kd83')
  })

  test.each([{ '~error': { message: 'not one' } }, { '~output': 1 }, { error: { message: 'data' } }])(
    'is not the meaning of an output that looks like one: %j',
    async (output) => {
      const { agent, told } = printing(1)
      const { state, pending } = await agent.run('Print.')
      const { sessionId } = await agent.run(state, {
        toolResults: [{ callId: pending.remoteCalls[0]?.callId ?? '', output }],
      })
      expect(sessionId).toBe(state.cursor.sessionId)
      expect(told).toEqual([{ type: 'json', value: output }])
    },
  )

  test('is invalid beside an output, without either, and in another form', async () => {
    const { agent } = printing(1)
    const { state, pending } = await agent.run('Print.')
    const callId = pending.remoteCalls[0]?.callId ?? ''
    const cases: readonly (readonly [object, RegExp])[] = [
      [{ callId, output: 1, error: reset }, /has "output" and "error"/],
      [{ callId }, /has neither "output" nor "error"/],
      [{ callId, error: { code: 'x' } }, /"message" in "error"/],
      [{ callId, error: { message: 'x', code: 7 } }, /"code" in "error"/],
      [{ callId, error: 'broken' }, /as an object/],
    ]
    for (const [result, message] of cases) {
      const toolResults = [result as RemoteResult]
      await expect(async () => agent.run(state, { toolResults })).rejects.toMatchObject({
        code: 'invalid-options',
        message: expect.stringMatching(message),
      })
    }
    // @ts-expect-error -- a result has an output or an error
    const neither: RemoteResult = { callId }
    expect(neither).toBeDefined()
  })
})
