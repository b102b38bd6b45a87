import type { SessionStore } from '@provost/core'
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
