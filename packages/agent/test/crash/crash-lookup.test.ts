import { tool } from '@provost/tools'
import { describe, expect, test } from 'vitest'

import { collect, expectLogged, expectSound, only } from '../run/run-check.ts'
import type { Death } from './crash-world.ts'
import { createWorld, mortal } from './crash-world.ts'
import type { Lookup } from './lookup-world.ts'
import { afterDeath, input, payer } from './lookup-world.ts'

const full = process.env['PROVOST_TEST_FULL'] === '1'

describe('a call that a process died in, of a tool with lookup', () => {
  test('that took effect: the output of the lookup is its result, without an approval request', async () => {
    const { bank, store, session, kill } = await afterDeath('behind')
    const seen = await collect(session.resume())
    expectSound(seen)
    await expectLogged(store, seen.result)
    expect(seen.result.text).toContain('"paid":7,"times":1')
    expect([...bank.paid.keys()]).toEqual(bank.looked)
    expect(only(seen.events, 'tool.uncertain')).toEqual([])
    expect(only(seen.events, 'tool.execute.end')).toHaveLength(1)
    kill()
  })

  test('that was not done: it runs again, with the same key', async () => {
    const { bank, store, session, kill } = await afterDeath('before')
    const seen = await collect(session.resume())
    expectSound(seen)
    await expectLogged(store, seen.result)
    expect(seen.result.text).toContain('"paid":7,"times":1')
    expect([...bank.paid.keys()]).toEqual(bank.looked)
    expect(only(seen.events, 'tool.uncertain')).toEqual([])
    kill()
  })

  test.for<[string, Lookup, { readonly timeoutMs?: number }, string]>([
    ['throws', () => Promise.reject(new Error('the bank is closed')), {}, 'the bank is closed'],
    [
      'throws at once',
      () => {
        throw new Error('no bank')
      },
      {},
      'no bank',
    ],
    ['never answers', () => new Promise(() => {}), { timeoutMs: 5 }, 'did not answer within 5 ms'],
  ])('is uncertain where the lookup %s', async ([, lookup, more, said]) => {
    const { bank, session, kill } = await afterDeath('behind', lookup, more)
    const { events, result } = await collect(session.resume())
    expect(result).toMatchObject({ status: 'suspended', pending: { uncertain: [{ toolName: 'pay' }] } })
    expect(only(events, 'agent.error')).toMatchObject([
      { error: { message: expect.stringContaining(said) }, source: { kind: 'tool', name: 'pay' } },
    ])
    expect(bank.paid.size).toBe(1)
    kill()
  })

  test('is given up when the run is aborted while it is looked up', async () => {
    const { bank, session, kill } = await afterDeath('behind', () => new Promise(() => {}))
    const stream = session.resume()
    for await (const event of stream) if (event.type === 'agent.resumed') void stream.abort()
    expect((await stream.result).status).toBe('aborted')
    expect(bank.paid.size).toBe(1)
    kill()
  })

  test.for<Death>(['unanswered', 'unwritten'])(
    'takes effect once, wherever further processes die (%s)',
    async (death) => {
      for (const dies of ['before', 'behind'] as const) {
        for (let lives = 0; lives < 8; lives += full ? 1 : 3) {
          const { bank, store, kill } = await afterDeath(dies)
          const { store: on, died } = mortal({ ...createWorld(), store }, lives, death)
          const second = await payer(on, bank).resumeSession('s')
          const run = second.resume().result
          await Promise.race([died, run])
          const third = await payer(store, bank).resumeSession('s')
          if (third.status === 'suspended') await third.resume().result
          expect(bank.paid.size, `${dies}, ${lives} appends`).toBe(1)
          expect(third.pending.uncertain, `${dies}, ${lives} appends`).toEqual([])
          expect(third.messages.at(-1)?.role).toBe('assistant')
          kill()
        }
      }
    },
  )
})

test('a remote tool has nothing to look up', () => {
  expect(() => tool({ name: 'far', input, lookup: () => undefined })).toThrow(/remote and has a lookup/)
})
