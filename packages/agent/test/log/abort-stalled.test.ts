import type { SessionStore } from '@provost/core'
import { memoryStore, sqliteStore } from '@provost/sessions'
import { manualClock } from '@provost/testing'
import type { ManualClock } from '@provost/testing'
import { expect, onTestFinished, test, vi } from 'vitest'

import { readLog } from '../run/run-check.ts'
import { gate, world } from '../session/session-world.ts'

const stores = {
  memory: (clock: ManualClock) => memoryStore({ clock }),
  sqlite: (clock: ManualClock) => sqliteStore(':memory:', { clock }),
}

/** A store that other processes share. Its appends stall for one process from when it says so. */
function stalling(kind: keyof typeof stores) {
  const clock = manualClock()
  const { ephemeral: _, ...store }: SessionStore = stores[kind](clock)
  const opened = Promise.withResolvers<void>()
  let isStalled = false
  const slow: SessionStore = {
    ...store,
    async append(...args) {
      if (isStalled) await opened.promise
      return store.append(...args)
    },
  }
  return { store, clock, slow, stall: () => (isStalled = true), open: () => opened.resolve() }
}

/** A session whose tool runs while its process aborts the run, and the store does not take the end of the run. */
async function abortedWhileStalled(kind: keyof typeof stores) {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const { store, clock, slow, stall, open } = stalling(kind)
  const { tool, entered } = gate()
  const { agent } = world([{ toolCalls: [{ name: 'work', input: {} }] }], { tools: [tool], store: slow })
  const session = await agent.createSession({ id: 's' })
  const run = session.stream('go')
  await entered
  stall()
  const aborted = run.abort({ graceMs: 0 })
  await vi.advanceTimersByTimeAsync(10_000)
  await aborted
  await run.result
  return { store, clock, open }
}

/** The session in another process, whose model continues the run if it is asked. */
async function nextDriver(store: SessionStore) {
  const next = gate()
  next.open()
  const { agent, asked } = world([{ text: 'Went on.' }], { tools: [next.tool], store })
  return { session: await agent.resumeSession('s'), asked }
}

for (const kind of ['memory', 'sqlite'] as const) {
  test(`${kind}: a run whose end a stalled store did not take is ended as aborted by its next driver`, async () => {
    const { store, clock } = await abortedWhileStalled(kind)
    const { session, asked } = await nextDriver(store)
    expect(session.rest).toBe('crashed')
    await clock.advance(3_600_000)
    expect(await store.claimDue?.({ agents: ['a'], limit: 10, hiddenMs: 60_000 })).toMatchObject([{ id: 's' }])
    expect(await session.advance()).toEqual({ rest: 'done' })
    expect(session.rest).toBe('idle')
    expect(asked).toEqual([])
    expect((await readLog(store, 's')).at(-1)).toMatchObject({ type: 'run', op: 'ended', status: 'aborted' })
  })

  test(`${kind}: the late append of the aborted run changes nothing, and the session continues`, async () => {
    const { store, open } = await abortedWhileStalled(kind)
    const { session, asked } = await nextDriver(store)
    await session.advance()
    const ended = await readLog(store, 's')
    open()
    await vi.advanceTimersByTimeAsync(10_000)
    expect(await readLog(store, 's')).toEqual(ended)
    expect(await session.stream('Again.').result).toMatchObject({ status: 'completed', output: 'Went on.' })
    expect(asked).toHaveLength(1)
  })
}
