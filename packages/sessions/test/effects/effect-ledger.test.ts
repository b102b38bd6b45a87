import { join } from 'node:path'

import type { SessionStore } from '@provost/core'
import {
  claimEffect,
  endEffect,
  jsonlStore,
  listEffects,
  memoryStore,
  postgresStore,
  readAttempts,
  readEffect,
  sqliteStore,
} from '@provost/sessions'
import type { EffectClaim, EffectIdentity } from '@provost/sessions'
import { findPostgres, startPostgres } from '@provost/testing'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import { newFolder } from '../fixture/folder.ts'

const invoice: EffectIdentity = { tool: 'pay', key: 'invoice 17', scope: 'session', scopeId: 's' }

function claimBy(callId: string, attempt = 1): EffectClaim {
  return {
    attempt,
    sessionId: 's',
    log: 's',
    runId: 'r',
    callId,
    argsHash: 'a',
    idempotencyKey: 'k',
    after: 0,
    endsAt: 1,
  }
}

const kinds: Readonly<Record<string, (folder: string) => Promise<SessionStore | undefined> | SessionStore>> = {
  memoryStore: () => memoryStore(),
  jsonlStore: (folder) => jsonlStore(join(folder, 'logs')),
  sqliteStore: (folder) => sqliteStore(join(folder, 'store.db')),
  postgresStore: async () => (findPostgres() ? postgresStore((await startPostgres()).url) : undefined),
}

describe.each(Object.keys(kinds))('the ledger of effects in %s', (kind) => {
  let folder: ReturnType<typeof newFolder> | undefined
  let store: SessionStore | undefined

  beforeEach(async () => {
    folder = newFolder()
    store = await kinds[kind]?.(folder.path)
  })

  afterEach(async () => {
    await store?.close()
    folder?.remove()
  })

  it('gives an attempt to one of many claims', async (ctx) => {
    if (!store) return ctx.skip('PostgreSQL is not installed')
    const ledger = store
    const callers = Array.from({ length: 20 }, (_, n) => `call ${n}`)
    const seen = await Promise.all(
      callers.map(async (callId) => (await claimEffect(ledger, invoice, claimBy(callId)))?.claim.callId),
    )
    expect(new Set(seen).size).toBe(1)
    expect(callers).toContain(seen[0])
  })

  it('keeps the claim of a call that claims again after a crash', async (ctx) => {
    if (!store) return ctx.skip('PostgreSQL is not installed')
    await claimEffect(store, invoice, claimBy('first'))
    expect((await claimEffect(store, invoice, claimBy('first')))?.claim).toEqual(claimBy('first'))
    expect((await claimEffect(store, invoice, claimBy('second')))?.claim).toEqual(claimBy('first'))
  })

  it('records the strongest end of an attempt, in whatever order ends arrive', async (ctx) => {
    if (!store) return ctx.skip('PostgreSQL is not installed')
    const state = async (): Promise<unknown> => (await readEffect(store ?? memoryStore(), invoice))?.state
    expect(await state()).toBeUndefined()
    const claim = claimBy('first')
    await claimEffect(store, invoice, claim)
    expect(await state()).toBe('dispatched')
    await endEffect(store, invoice, claim, 'unknown', { by: 'call' })
    expect(await state()).toBe('unknown')
    await endEffect(store, invoice, claim, 'confirmed', { by: 'lookup', offset: 7 })
    await endEffect(store, invoice, claim, 'failed', { by: 'ann' })
    expect(await readEffect(store, invoice)).toMatchObject({ state: 'confirmed', by: 'lookup', offset: 7, claim })
    await endEffect(store, invoice, claim, 'compensated', { by: 'compensate' })
    expect(await state()).toBe('compensated')
  })

  it('begins a new attempt with the next claim, and keeps ends of an earlier one apart', async (ctx) => {
    if (!store) return ctx.skip('PostgreSQL is not installed')
    await claimEffect(store, invoice, claimBy('first'))
    await endEffect(store, invoice, claimBy('first'), 'failed', { by: 'lookup' })
    expect((await claimEffect(store, invoice, claimBy('second', 2)))?.claim.callId).toBe('second')
    await endEffect(store, invoice, claimBy('first'), 'unknown', { by: 'call' })
    expect(await readEffect(store, invoice)).toMatchObject({ state: 'dispatched', claim: claimBy('second', 2) })
  })

  it('reads as much of an effect that failed hundreds of times as of one that failed a few times', async (ctx) => {
    if (!store) return ctx.skip('PostgreSQL is not installed')
    const plain = store
    let read = 0
    const counting: SessionStore = {
      ...plain,
      async *inbox(...given) {
        for await (const delivery of plain.inbox(...given)) {
          read += 1
          yield delivery
        }
      },
    }
    const most = kind === 'memoryStore' ? 400 : 100
    for (let attempt = 1; attempt <= most; attempt++) {
      read = 0
      const claim = claimBy(`call ${attempt}`, attempt)
      expect((await claimEffect(counting, invoice, claim))?.claim).toEqual(claim)
      await endEffect(counting, invoice, claim, 'failed', { by: 'call' })
      expect(read).toBeLessThan(150)
    }
    expect((await readAttempts(plain, invoice)).map(({ claim }) => claim.attempt)).toEqual(
      Array.from({ length: most }, (_, n) => n + 1),
    )
    expect(await readEffect(plain, invoice)).toMatchObject({ state: 'failed', claim: { attempt: most } })
  })

  it('lists the effects of a scope by key and state, and no others', async (ctx) => {
    if (!store) return ctx.skip('PostgreSQL is not installed')
    const other: EffectIdentity = { ...invoice, key: 'invoice 18' }
    await claimEffect(store, invoice, claimBy('first'))
    await claimEffect(store, other, claimBy('second'))
    await claimEffect(store, { ...invoice, scopeId: 'another' }, claimBy('third'))
    await endEffect(store, other, claimBy('second'), 'confirmed', { by: 'call', offset: 3 })
    const keys = async (filter: object): Promise<readonly string[]> => {
      const found: string[] = []
      const scope = { scope: 'session', scopeId: 's' } as const
      for await (const { key } of listEffects(store ?? memoryStore(), { ...scope, ...filter })) found.push(key)
      return found
    }
    expect(await keys({})).toEqual(['invoice 17', 'invoice 18'])
    expect(await keys({ state: 'confirmed' })).toEqual(['invoice 18'])
    expect(await keys({ key: 'invoice 17', state: 'confirmed' })).toEqual([])
    expect(await keys({ tool: 'refund' })).toEqual([])
  })
})
