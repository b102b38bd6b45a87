import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { startDistantWorker } from './distant-worker.ts'
import { effectsIn, engineDesk, inputOf } from './engine-desk.ts'
import { endOf, entriesOf, questionsIn, until } from './log-state.ts'
import { outageChecks } from './outage-checks.ts'
import { processChecks } from './process-checks.ts'
import { restChecks } from './rest-checks.ts'
import { roomChecks } from './room-checks.ts'
import type { EngineBench, EngineCheck, EngineDraft, EngineModule, EngineSubject } from './subject.ts'
import { teamChecks } from './team-checks.ts'

const drafts: readonly EngineDraft[] = [...restChecks, ...teamChecks, ...roomChecks, ...processChecks, ...outageChecks]

/**
 * Returns the requirements of every `DurableEngine`, as checks with the names of tests: sessions end, also after lost and
 * doubled wakes, late and repeated answers, deadlines, aborts, drains, kills of workers and of the server of the engine, and
 * outages of the store; no effect is lost or repeated, no process takes more than it has room for, and the engine stores
 * nothing of users. The checks need no test framework. Each creates a place of its own, with an agent from a script.
 *
 * @example
 * // my-engine-place.ts
 * export const open: EngineModule['open'] = (argument, { tool: options, ...desk }, { desk: asked, ...lead }) => {
 *   const store = sqliteStore(argument)
 *   const agent = createAgent({ ...desk, tools: [tool(options)], store })
 *   const chief = createAgent({ ...lead, tools: [agent.toTool(asked)], store })
 *   const engine = myEngine()
 *   return {
 *     ...{ store, engine },
 *     createSession: (session) => agent.createSession(session),
 *     createChiefSession: (session) => chief.createSession(session),
 *     createWorker: (worker) => createWorker({ ...worker, agents: [agent, chief], store, engine, pollMs: 50 }),
 *   }
 * }
 * // my-engine.test.ts
 * const module = new URL('my-engine-place.ts', import.meta.url).href
 * const checks = engineConformance({ module, place: () => placeIn(newFolder()) })
 * test.for(checks)('$name', ({ run }) => run())
 */
export function engineConformance(subject: EngineSubject): readonly EngineCheck[] {
  return drafts
    .filter(({ outage }) => outage === undefined || subject.outages?.includes(outage))
    .map((draft) => ({
      name: draft.name,
      isSlow: draft.isSlow === true,
      run: () => runDraft(subject, draft),
    }))
}

async function runDraft(subject: EngineSubject, draft: EngineDraft): Promise<void> {
  const { leaseMs = 400 } = subject
  const folder = mkdtempSync(join(tmpdir(), 'provost-engine-'))
  const outside = join(folder, 'effects')
  const ending: (() => Promise<unknown> | void)[] = [() => rmSync(folder, { recursive: true, force: true })]
  try {
    const place = await subject.place()
    ending.push(() => place.remove())
    const { open }: EngineModule = await import(subject.module)
    const observed = engineDesk(outside, leaseMs)
    const own = await open(place.argument, observed.desk, observed.chief)
    const { store } = own
    ending.push(() => store.close())

    const bench: EngineBench = {
      ...{ place, leaseMs, store },
      effects: () => effectsIn(outside),
      async begin(id, calls, principal = 'ann') {
        await (await own.createSession({ id, principal: { id: principal } })).close()
        await store.deliver(id, 'send/1', { mode: 'queue', input: inputOf(calls) }, principal)
      },
      async beginChief(id, calls) {
        await (await own.createChiefSession({ id, principal: { id: 'ann' } })).close()
        await store.deliver(id, 'send/1', { mode: 'queue', input: inputOf(calls) }, 'ann')
      },
      async childrenOf(id) {
        const entries = await entriesOf(store, id)
        return entries.flatMap((entry) => (entry.type === 'child' && entry.op === 'spawned' ? [entry.log] : []))
      },
      async worker({ room = 16 } = {}) {
        const { desk, chief, peaks } = engineDesk(outside, leaseMs)
        const parts = await open(place.argument, desk, chief)
        const worker = parts.createWorker({ concurrency: room })
        let closed: Promise<void> | undefined
        const close = (options: { readonly graceMs: number }): Promise<void> =>
          (closed ??= worker.close(options).finally(() => parts.store.close()))
        ending.push(() => close({ graceMs: 0 }))
        await place.ready?.()
        return {
          parts,
          peaks,
          close,
          get running() {
            return worker.running
          },
        }
      },
      async distantWorker(holds) {
        const worker = await startDistantWorker(subject.module, [place.argument, outside, String(leaseMs), holds ?? ''])
        ending.push(() => {
          worker.signal('SIGKILL')
          return worker.ended()
        })
        await place.ready?.()
        return worker
      },
      questions: (id) => questionsIn(store, id),
      async question(id) {
        let found: readonly string[] = []
        await until(
          async () => (found = await questionsIn(store, id)).length > 0,
          () => `${id} asks nothing`,
        )
        return found[0] ?? ''
      },
      async ended(ids, effects, status = 'completed') {
        for (const id of ids) await endOf(store, id, status)
        const made = effectsIn(outside).filter(({ sessionId }) => ids.includes(sessionId))
        const keys = new Set(made.map(({ key }) => key))
        assert.deepEqual([made.length, keys.size], [effects, effects], 'effects, and different ones')
      },
    }
    await draft.run(bench)
  } finally {
    for (const end of ending.toReversed()) await end()
  }
}
