import { readFileSync } from 'node:fs'

import { mostTakeovers, transientLimits } from '@provost/core'
import type { Entry, NewEntry } from '@provost/core'
import * as kit from '@provost/sessions/kit'
import type { LeaseRecord, LogSummary } from '@provost/sessions/kit'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'

test('the README lists every function of the kit, once', () => {
  const text = readFileSync(new URL('../../README.md', import.meta.url), 'utf8')
  const [, section = ''] = text.split('## Parts for a store of your own')
  const rows = [...section.matchAll(/^\| (`.*?) +\|/gm)].flatMap(([, cell = '']) => cell.match(/\w+/g) ?? [])
  expect(rows.toSorted()).toEqual(Object.keys(kit).toSorted())
})

describe('grantLease', () => {
  type Step = { readonly do: 'ask' | 'ask for a part' | 'release' | 'end the quarantine'; readonly by: number } | number
  const kinds = ['ask', 'ask', 'ask', 'ask', 'ask', 'ask for a part', 'release', 'end the quarantine'] as const
  // Long lists, so that some reach the last takeover. Leases last 10 ms.
  const steps = fc.array(
    fc.oneof(
      fc.record({ do: fc.constantFrom(...kinds), by: fc.integer({ min: 0, max: 3 }) }),
      fc.constantFrom(0, 1, 9, 10, 11),
    ),
    { minLength: 200, maxLength: 400, size: 'max' },
  )

  test('gives at most one owner the lease at a time, rising fences, and quarantine after the last takeover', () => {
    fc.assert(
      fc.property(steps, (all: readonly Step[]) => {
        const faults: string[] = []
        const check = (holds: boolean, requirement: string): void => void (holds || faults.push(requirement))
        let record: LeaseRecord | undefined
        let now = 100
        let fences = 0
        let held: { readonly by: number; readonly fence: number; readonly until: number } | undefined
        const nextFence = (): number => ++fences
        for (const step of all) {
          if (typeof step === 'number') {
            now += step
            continue
          }
          const before = kit.leaseStateOf(record, now)
          if (step.do === 'release') {
            const fence = held?.by === step.by ? held.fence : -1
            const after = record && kit.releaseLease(record, fence)
            check((after === record) !== fence > 0, 'only the latest fence releases')
            check(!kit.permitsAppend(after, fence), 'a released lease permits no append')
            record = after
            if (fence > 0) held = undefined
          } else if (step.do === 'end the quarantine') {
            const ended = kit.endQuarantine(record)
            check((ended !== undefined) === (before.quarantinedAt !== undefined), 'only a quarantine ends')
            check(!ended || kit.leaseStateOf(ended, now).takeovers === 0, 'the count restarts')
            record = ended ?? record
          } else {
            const terms = step.do === 'ask' ? {} : { part: true as const }
            const decision = kit.grantLease(record, { owner: `${step.by}`, ttlMs: 10, now, terms, nextFence })
            const ofOther = held !== undefined && held.by !== step.by && held.until > now
            check((decision.outcome === 'busy') === ofOther, 'busy while another owner holds it, and only then')
            if (decision.outcome === 'busy') continue
            record = decision.record
            if (decision.outcome === 'quarantined') {
              const last = before.holder === 'lapsed' && before.takeovers === mostTakeovers
              check(before.quarantinedAt !== undefined || last, 'quarantine after the last takeover')
              check(!kit.permitsAppend(record, record.fence), 'a quarantined session permits no append')
              held = undefined
              continue
            }
            const renewed = held?.by === step.by
            const counts = before.holder === 'lapsed' && !renewed && step.do === 'ask'
            const { fence, takeovers } = decision.lease
            check(decision.renewed === renewed && fence === (renewed ? held?.fence : fences), 'each owner has a fence')
            check(takeovers === before.takeovers + (counts ? 1 : 0), 'a takeover counts')
            check(takeovers <= mostTakeovers, 'the count is bounded')
            check(kit.permitsAppend(record, fence), 'a lease permits an append')
            held = { by: step.by, fence, until: now + 10 }
          }
        }
        expect(faults).toEqual([])
      }),
    )
  })

  test('a steady owner resets the count, at a renewal only', () => {
    const record: LeaseRecord = { fence: 3, owner: 'ann', begun: 0, until: 10, takeovers: 2 }
    const ask = (owner: string) =>
      kit.grantLease(record, { owner, ttlMs: 10, now: 20, terms: { steady: true }, nextFence: () => 4 })
    expect(ask('ann')).toMatchObject({ renewed: true, lease: { fence: 3, takeovers: 0 } })
    expect(ask('bob')).toMatchObject({ renewed: false, lease: { fence: 4, takeovers: 3 } })
  })

  test('a lease that begins further ahead than it lasts has expired: the clock was set back', () => {
    const record: LeaseRecord = { fence: 1, owner: 'ann', begun: 1_000, until: 1_100, takeovers: 0 }
    expect(kit.leaseStateOf(record, 899).holder).toBe('lapsed')
    expect(kit.leaseStateOf(record, 900).holder).toBe('alive')
  })
})

describe('the summary of a log', () => {
  const base = { at: 1, runId: 'r', step: 0, agent: 'desk', v: 1 } as const
  const manifest = { agent: 'desk', extensions: [], tools: [] }
  const body = fc.oneof(
    fc.constant({ type: 'memo', key: 'k', value: 1 } as const),
    fc.constant({ type: 'run', op: 'started', manifest, principal: { id: 'ann' } } as const),
    fc.constant({ type: 'run', op: 'started', manifest, parent: { log: 'p', runId: 'r' } } as const),
    fc.constantFrom(...(['suspended', 'resumed'] as const)).map((op) => ({ type: 'run', op }) as const),
    fc
      .constantFrom(...(['completed', 'failed'] as const))
      .map((status) => ({ type: 'run', op: 'ended', status }) as const),
  )
  const appends = fc.array(fc.array(fc.tuple(body, fc.nat()), { minLength: 1, maxLength: 4 }), { maxLength: 6 })

  test('that each append brings up to date gives the same row as all entries at once', () => {
    fc.assert(
      fc.property(appends, (lists) => {
        let summary: LogSummary | undefined
        const entries: Entry[] = []
        for (const list of lists) {
          const fresh = list.map(([more, at], n): NewEntry => ({ ...base, ...more, at, id: `${entries.length + n}` }))
          summary = kit.summarizeAppend(summary, fresh)
          for (const entry of fresh) entries.push({ ...entry, offset: entries.length + 1 })
          expect(kit.sessionInfo('s', summary)).toEqual(kit.sessionInfo('s', entries))
        }
      }),
    )
  })
})

test('ids of deliveries sort like their numbers', () => {
  const count = fc.integer({ min: 1, max: 999_999_999_999 })
  fc.assert(
    fc.property(count, count, (a, b) => {
      expect(kit.deliveryId(a) < kit.deliveryId(b)).toBe(a < b)
      expect(Number(kit.deliveryId(a))).toBe(a)
    }),
  )
})

test('a log is full at the limits of items and of their length, and not before', () => {
  const item = { log: 'l', offset: 1, from: 0, to: 0, body: 'ab' }
  const { pieces, length } = transientLimits
  expect(kit.addTransient({ count: pieces - 1, length: length - 2 }, item)).toEqual({ count: pieces, length })
  expect(kit.addTransient({ count: pieces, length: 0 }, item)).toBeUndefined()
  expect(kit.addTransient({ count: 0, length: length - 1 }, item)).toBeUndefined()
})
