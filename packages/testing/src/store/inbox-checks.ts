import assert from 'node:assert/strict'

import type { SessionStore } from '@provost/core'

import { all, hostileNames, note, take, write } from './log-entry.ts'
import type { CheckDraft } from './subject.ts'

/** Counts the notifications for a session until it is stopped. */
function watcher(store: SessionStore, sessionId: string) {
  const abort = new AbortController()
  let hints = 0
  let told = Promise.withResolvers<void>()
  const over = (async () => {
    for await (const _ of store.watch(sessionId, abort.signal)) {
      hints++
      told.resolve()
      told = Promise.withResolvers()
    }
  })()
  return {
    get hints() {
      return hints
    },
    /** Resolves with the next notification. */
    told: () => told.promise,
    async stop() {
      abort.abort()
      await over
    },
  }
}

/** Waits until a new watcher is sure to be notified: a store may need a moment to start listening. */
async function settled(store: SessionStore, sessionId: string, seen: ReturnType<typeof watcher>): Promise<void> {
  const told = seen.told()
  await store.deliver(sessionId, 'first', null, 'ann')
  await told
}

export const inboxChecks: readonly CheckDraft[] = [
  {
    name: 'the inbox needs no lease, no session and no waiting reader',
    async run(bench) {
      const store = await bench.store()
      const session = bench.name()
      assert.equal(await store.deliver(session, 'token', { decision: 'approve' }, 'ann'), 'accepted')
      const [delivery, ...rest] = await all(store.inbox(session))
      assert.deepEqual(rest, [])
      assert.deepEqual(
        { ...delivery, id: '', at: 0 },
        { id: '', at: 0, token: 'token', value: { decision: 'approve' }, by: 'ann' },
      )
      assert.ok(Object.isFrozen(delivery) && typeof delivery?.at === 'number')
      assert.deepEqual(await all(store.inbox(bench.name())), [])
      await write(store, session, [note('a')])
      assert.equal((await all(store.inbox(session))).length, 1)
    },
  },
  {
    name: 'a watcher of the inbox is notified of deliveries',
    async run(bench) {
      const store = await bench.store()
      const session = bench.name()
      const abort = new AbortController()
      const news = store.watch(session, abort.signal, 'inbox')[Symbol.asyncIterator]()
      const tokens: string[] = []
      let told = news.next()
      // A notification may refer to an older delivery, or to the log.
      await write(store, session, [note('a')])
      await store.deliver(session, 'token', 'yes', 'ann')
      while (tokens.length === 0) {
        assert.equal((await told).done, false)
        told = news.next()
        for await (const { token } of store.inbox(session)) tokens.push(token)
      }
      assert.deepEqual(tokens, ['token'])
      abort.abort()
      while (!(await told).done) told = news.next()
    },
  },
  {
    name: 'only the first delivery for a token is accepted',
    async run(bench) {
      const store = await bench.store()
      const [session, other] = [bench.name(), bench.name()]
      await store.deliver(session, 'token', 'approve', 'ann')
      assert.equal(await store.deliver(session, 'token', 'deny', 'bob'), 'duplicate')
      assert.equal(await store.deliver(other, 'token', 'deny', 'bob'), 'accepted')
      const [delivery, ...rest] = await all(store.inbox(session))
      assert.deepEqual([delivery?.value, delivery?.by, rest], ['approve', 'ann', []])
    },
  },
  {
    name: 'of many concurrent deliveries for a token one is accepted',
    async run(bench) {
      const store = await bench.store()
      const session = bench.name()
      const words = Array.from({ length: 16 }, (_, n) => store.deliver(session, 'token', n, 'ann'))
      const accepted = (await Promise.all(words)).flatMap((word, n) => (word === 'accepted' ? [n] : []))
      assert.equal(accepted.length, 1)
      assert.deepEqual(
        (await all(store.inbox(session))).map(({ value }) => value),
        accepted,
      )
    },
  },
  {
    name: 'the inbox is read in order, from any delivery on, at any size',
    async run(bench) {
      const store = await bench.store()
      const session = bench.name()
      const tokens = Array.from({ length: 25 }, (_, n) => `t${n}`)
      for (const token of tokens) await store.deliver(session, token, null, 'ann')
      const deliveries = await all(store.inbox(session))
      const tokensAfter = async (id?: string): Promise<string[]> =>
        (await all(store.inbox(session, id))).map(({ token }) => token)
      assert.deepEqual(await tokensAfter(), tokens)
      assert.deepEqual(await tokensAfter(deliveries[9]?.id), tokens.slice(10))
      assert.deepEqual(await tokensAfter(deliveries.at(-1)?.id), [])
    },
  },
  {
    name: 'hostile tokens, senders and session names stay apart',
    async run(bench) {
      const store = await bench.store()
      const session = bench.name()
      for (const token of hostileNames) assert.equal(await store.deliver(session, token, token, token), 'accepted')
      for (const token of hostileNames) assert.equal(await store.deliver(session, token, 'late', ''), 'duplicate')
      const found = await all(store.inbox(session))
      assert.deepEqual(
        found.map(({ token, value, by }) => [token, value, by]),
        hostileNames.map((token) => [token, token, token]),
      )
      for (const name of hostileNames) await store.deliver(`${session}${name}x`, 't', name, 'ann')
      for (const name of hostileNames) {
        const [delivery, ...rest] = await all(store.inbox(`${session}${name}x`))
        assert.deepEqual([delivery?.value, rest], [name, []])
      }
    },
  },
]

export const watchChecks: readonly CheckDraft[] = [
  {
    name: 'a watcher is notified of deliveries to its session and of appends to its log',
    async run(bench) {
      const store = await bench.store()
      const session = bench.name()
      const seen = watcher(store, session)
      await settled(store, session, seen)
      let told = seen.told()
      await store.append(session, [note('a')], { after: 0, fence: await take(store, session) })
      await told
      told = seen.told()
      await store.deliver(session, 't', 1, 'ann')
      await told
      assert.ok(seen.hints >= 3)
      await seen.stop()
    },
  },
  {
    name: 'a watcher misses no change that arrives while it handles a notification',
    async run(bench) {
      const store = await bench.store()
      const session = bench.name()
      const abort = new AbortController()
      const first = Promise.withResolvers<void>()
      const working = Promise.withResolvers<void>()
      const complete = Promise.withResolvers<void>()
      const over = (async () => {
        for await (const _ of store.watch(session, abort.signal)) {
          first.resolve()
          await working.promise
          if ((await all(store.inbox(session))).length === 3) complete.resolve()
        }
      })()
      await store.deliver(session, 'a', 1, 'ann')
      await first.promise
      await store.deliver(session, 'b', 1, 'ann')
      await store.deliver(session, 'c', 1, 'ann')
      working.resolve()
      await complete.promise
      abort.abort()
      await over
    },
  },
  {
    name: 'each of several watchers is notified',
    async run(bench) {
      const store = await bench.store()
      const session = bench.name()
      const both = [watcher(store, session), watcher(store, session)]
      const told = both.map((seen) => seen.told())
      await store.deliver(session, 't', 1, 'ann')
      await Promise.all(told)
      await Promise.all(both.map((seen) => seen.stop()))
    },
  },
  {
    name: 'watching with an aborted signal ends at once',
    async run(bench) {
      const store = await bench.store()
      assert.deepEqual(await all(store.watch(bench.name(), AbortSignal.abort())), [])
    },
  },
  {
    name: 'closing a store ends its watchers',
    async run(bench) {
      const place = await bench.place()
      const store = await place.open()
      const seen = watcher(store, 'session')
      await settled(store, 'session', seen)
      await store.close()
      await seen.stop()
    },
  },
]
