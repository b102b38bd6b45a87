import { createAgent, foldLog } from '@provost/agent'
import type { Agent, AgentOptions } from '@provost/agent'
import type { DefinitionChange, SessionStore } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

import { readLog } from '../run/run-check.ts'

const pay = (description: string, effect: 'write' | 'egress' = 'write') =>
  tool({ name: 'pay', description, effect, input: z.object({}), needsApproval: true, execute: () => 'paid' })

/** One release of an agent. */
function release(store: SessionStore, more: Omit<Partial<AgentOptions>, 'output' | 'store'> = {}): Agent {
  return createAgent({
    name: 'desk',
    model: scriptedModel(
      [
        ({ messages }) =>
          messages.some(({ role }) => role === 'tool') ? { text: 'done' } : { toolCalls: [{ name: 'pay', input: {} }] },
      ],
      { after: 'repeat-last' },
    ),
    instructions: 'Pay.',
    tools: [pay('Pays.')],
    version: '1',
    ...more,
    store,
  })
}

const newer = { instructions: 'Pay at once.', tools: [pay('Pays.', 'egress')], version: '2' }

/** A session that an earlier release left waiting for an approval. */
async function waiting(): Promise<SessionStore> {
  const store = memoryStore()
  const session = await release(store).createSession({ id: 's' })
  session.send('pay')
  expect((await session.waitForIdle())?.status).toBe('suspended')
  await session.close()
  return store
}

const approve = (id: string) => ({ approvals: [{ id, decision: 'approve' as const }] })

describe('a run that began with other code', () => {
  test('has the version of its code in the log', async () => {
    const log = await readLog(await waiting(), 's')
    const started = log.find(({ type }) => type === 'run')
    expect(started).toMatchObject({
      manifest: {
        version: '1',
        definitions: { instructions: expect.stringMatching(/^[0-9a-f]{16}$/), tools: { pay: expect.any(String) } },
      },
    })
  })

  test('continues by default, asks again about a tool with another definition, and records the new version', async () => {
    const store = await waiting()
    const session = await release(store, newer).resumeSession('s')
    const [asked] = session.pending.approvals
    const first = await session.resume(approve(asked?.id ?? '')).result
    expect(first.status).toBe('suspended')
    const [again] = first.pending.approvals
    expect((await session.resume(approve(again?.id ?? '')).result).text).toBe('done')
    const resumed = (await readLog(store, 's')).filter((entry) => entry.type === 'run' && entry.op === 'resumed')
    expect(resumed).toMatchObject([{ manifest: { version: '2' } }, {}])
    expect(resumed[1]).not.toHaveProperty('manifest')
    await session.close()
  })

  test.each(['ask', 'refuse'] as const)(
    'is left unchanged under the rule %s, and the earlier code can resume it',
    async (rule) => {
      const store = await waiting()
      const before = await readLog(store, 's')
      const session = await release(store, { ...newer, whenChanged: rule }).resumeSession('s')
      const [asked] = session.pending.approvals
      const { status, error } = await session.resume(approve(asked?.id ?? '')).result
      expect([status, error?.code, error?.retryable]).toEqual(['failed', 'definition-changed', true])
      expect(error?.message).toBe(
        'Agent desk changed since its run began: version 1 is now 2, the instructions changed, tool pay was changed. The run may not continue with this code.',
      )
      await session.close()
      expect(await readLog(store, 's')).toEqual(before)
      const old = await release(store, { whenChanged: rule }).resumeSession('s')
      expect((await old.resume(approve(asked?.id ?? '')).result).text).toBe('done')
      await old.close()
    },
  )

  test('continues under the rule ask once it is accepted, and under refuse not even then', async () => {
    const store = await waiting()
    const strict = await release(store, { ...newer, whenChanged: 'refuse' }).resumeSession('s')
    const refused = await strict.resume({ acceptChanges: true }).result
    expect(refused.error?.code).toBe('definition-changed')
    await strict.close()
    const session = await release(store, { ...newer, whenChanged: 'ask' }).resumeSession('s')
    const accepted = await session.resume({ acceptChanges: true }).result
    expect(accepted.status).toBe('suspended')
    // Accepted once: the log has the version.
    const [asked] = accepted.pending.approvals
    const again = await session.resume(approve(asked?.id ?? '')).result
    expect(again.error).toBeUndefined()
    await session.close()
  })

  test('is accepted by the id of its change, which another change does not have', async () => {
    const store = await waiting()
    const state = foldLog(await readLog(store, 's'))
    const agent = release(store, { ...newer, whenChanged: 'ask' })
    const change = await agent.changeSince(state)
    expect(change).toMatchObject({ from: '1', to: '2', rule: 'ask' })
    expect(await release(store, { whenChanged: 'ask' }).changeSince(state)).toBeUndefined()
    const third = release(store, { ...newer, version: '3', whenChanged: 'ask' })
    expect((await third.changeSince(state))?.id).not.toBe(change?.id)

    const acceptance = { acceptChanges: change?.id ?? '' }
    const later = await third.resumeSession('s')
    const refused = await later.resume(acceptance).result
    expect(refused.error).toMatchObject({
      code: 'definition-changed',
      message: expect.stringContaining('It is not the change that was accepted.'),
    })
    await later.close()
    const session = await agent.resumeSession('s')
    // @ts-expect-error -- as JavaScript gives it
    expect(() => session.resume({ acceptChanges: 1 })).toThrow(expect.objectContaining({ code: 'invalid-option' }))
    expect((await session.resume(acceptance).result).status).toBe('suspended')
    expect(await agent.changeSince(foldLog(await readLog(store, 's')))).toBeUndefined()
    await session.close()
  })

  test.each(['ask', 'refuse'] as const)('is aborted under the rule %s without an acceptance', async (rule) => {
    const store = await waiting()
    const session = await release(store, { ...newer, whenChanged: rule }).resumeSession('s')
    await session.abort()
    expect(session.rest).toBe('idle')
    expect((await readLog(store, 's')).at(-1)).toMatchObject({ type: 'run', op: 'ended', status: 'aborted' })
    // The next run begins with the new code.
    expect((await session.stream('hello').result).error).toBeUndefined()
    await session.close()
  })

  test('is ended by an abort that another process left, when an engine advances it', async () => {
    const store = await waiting()
    const runId = foldLog(await readLog(store, 's')).run?.id ?? ''
    await store.deliver('s', 'abort/1', { runId }, 'ann')
    const session = await release(store, { ...newer, whenChanged: 'ask' }).resumeSession('s')
    expect(await session.advance()).toEqual({ rest: 'done' })
    expect((await readLog(store, 's')).at(-1)).toMatchObject({ type: 'run', op: 'ended', status: 'aborted' })
    await session.close()
  })

  test('is decided by a function, which gets the change', async () => {
    const store = await waiting()
    const seen: DefinitionChange[] = []
    const whenChanged = (change: DefinitionChange) => {
      seen.push(change)
      return change.tools.length > 0 ? ('refuse' as const) : ('continue' as const)
    }
    const session = await release(store, { ...newer, whenChanged }).resumeSession('s')
    expect((await session.resume().result).error?.code).toBe('definition-changed')
    await session.close()
    const prompts = await release(store, {
      instructions: 'Other words.',
      version: '2',
      tools: [pay('Pays.')],
      whenChanged,
    }).resumeSession('s')
    expect((await prompts.resume().result).error).toBeUndefined()
    await prompts.close()
    const id = expect.stringMatching(/^[0-9a-f]{16}$/)
    expect(seen).toEqual([
      { id, agent: 'desk', from: '1', to: '2', instructions: true, tools: [{ name: 'pay', change: 'changed' }] },
      { id, agent: 'desk', from: '1', to: '2', instructions: true, tools: [] },
    ])
  })

  test('that an engine advances stays due, and counts as no poisoned run', async () => {
    const store = await waiting()
    await store.deliver('s', 'x', 1, 'ann')
    const session = await release(store, { ...newer, whenChanged: 'refuse' }).resumeSession('s')
    const [asked] = session.pending.approvals
    await store.deliver('s', asked?.id ?? '', { decision: 'approve' }, 'ann')
    await expect(session.advance()).rejects.toMatchObject({ code: 'definition-changed', retryable: true })
    expect(await store.leaseState('s')).toMatchObject({ holder: 'none', takeovers: 0 })
    await session.close()
  })

  test('is rejected with an invalid rule or version when the agent is made', () => {
    const store = memoryStore()
    // @ts-expect-error -- as JavaScript gives it
    expect(() => release(store, { whenChanged: 'never' })).toThrow(expect.objectContaining({ code: 'invalid-agent' }))
    // @ts-expect-error -- as JavaScript gives it
    expect(() => release(store, { version: 2 })).toThrow(expect.objectContaining({ code: 'invalid-agent' }))
  })
})
