import type { Json, SessionStore } from '@provost/core'
import { textOf } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import { describe, expect, test } from 'vitest'

import { world } from './session-world.ts'

/** A store that other processes share. */
function shared(): SessionStore {
  const { ephemeral: _, ...store } = memoryStore()
  return store
}

describe('input that was delivered while another process held the session', () => {
  test.each(['queue', 'steer'] as const)('enters the next run here once (%s)', async (mode) => {
    const store = shared()
    const { agent } = world([{ text: 'One.' }, { text: 'Two.' }, { text: 'Three.' }], { store })
    const session = await agent.createSession({ id: 's' })
    const other = await store.lease('s', 'another process', 60_000)
    if (other === 'busy') throw new Error('The lease is free at this point.')
    expect(await session.deliver('Hello.', { key: 'once', mode })).toBe('accepted')
    await session.waitForIdle()
    await store.release('s', other.fence)
    session.send('Next.')
    expect((await session.waitForIdle())?.status).toBe('completed')
    const texts = session.messages.filter(({ role }) => role === 'user').map((message) => textOf(message))
    expect(texts.toSorted()).toEqual(['Hello.', 'Next.'])
    expect(await session.deliver('Hello.', { key: 'once', mode })).toBe('duplicate')
    await session.waitForIdle()
    expect(session.messages.filter(({ role }) => role === 'user')).toHaveLength(2)
  })
})

describe('the data of a delivered input', () => {
  const dataIn = async (store: SessionStore): Promise<readonly Json[]> => {
    const taken: Json[] = []
    for await (const entry of store.read('s')) if (entry.type === 'resolved') taken.push([entry.token, entry.value])
    return taken
  }

  test('is in the log with the input that starts a run, and with one that a run takes', async () => {
    const store = shared()
    const { agent } = world([{ text: 'One.' }, { text: 'Two.' }, { text: 'Three.' }], { store })
    const session = await agent.createSession({ id: 's' })
    const deliveries = [
      session.deliver('One?', { key: '1', mode: 'queue', data: { n: 1 } }),
      session.deliver('Two?', { key: '2', mode: 'queue', data: [2] }),
      session.deliver('Three?', { key: '3', mode: 'queue' }),
    ]
    await Promise.all(deliveries)
    await session.waitForIdle()
    expect(await dataIn(store)).toEqual([
      ['send/1', { data: { n: 1 } }],
      ['send/2', { data: [2] }],
      ['send/3', null],
    ])
  })

  test.each(['queue', 'steer'] as const)('survives the wait for another process (%s)', async (mode) => {
    const store = shared()
    const { agent } = world([{ text: 'One.' }, { text: 'Two.' }], { store })
    const session = await agent.createSession({ id: 's' })
    const other = await store.lease('s', 'another process', 60_000)
    if (other === 'busy') throw new Error('The lease is free at this point.')
    await session.deliver('Hello.', { key: 'once', mode, data: 'kept' })
    await session.waitForIdle()
    await store.release('s', other.fence)
    session.send('Next.')
    await session.waitForIdle()
    expect(await dataIn(store)).toContainEqual(['send/once', { data: 'kept' }])
  })
})
