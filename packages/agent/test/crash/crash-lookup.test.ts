import { createAgent, replaySession } from '@provost/agent'
import type { MaybePromise } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import type { ScriptedPrompt, ScriptedStep } from '@provost/testing'
import { tool } from '@provost/tools'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

import { collect, expectLogged, expectSound, only, readLog } from '../run/run-check.ts'
import type { Death } from './crash-world.ts'
import { createWorld, mortal } from './crash-world.ts'

const full = process.env['PROVOST_TEST_FULL'] === '1'

const input = z.object({ n: z.number() })
interface Receipt {
  readonly paid: number
  readonly times: number
}
type Lookup = () => MaybePromise<{ readonly output: Receipt } | undefined>

/** What happens to a payment: its process may die before or behind its effect. */
interface Bank {
  readonly paid: Map<string, Receipt>
  readonly looked: string[]
  lookup?: Lookup
  dies?: 'before' | 'behind'
  died(): void
}

function payer(store: ReturnType<typeof memoryStore>, bank: Bank, more: { readonly timeoutMs?: number } = {}) {
  return createAgent({
    name: 'payer',
    store,
    model: scriptedModel([
      ({ messages }: ScriptedPrompt): ScriptedStep =>
        messages.some(({ role }) => role === 'tool')
          ? { text: JSON.stringify(messages.at(-1)?.content) }
          : { toolCalls: [{ name: 'pay', input: { n: 7 }, id: 'same' }] },
    ]),
    tools: [
      tool({
        name: 'pay',
        input,
        ...more,
        async execute({ n }, { idempotencyKey }): Promise<Receipt> {
          const { dies } = bank
          const gone = (): Promise<never> => (bank.died(), new Promise(() => {}))
          if (dies === 'before') await gone()
          const receipt = { paid: n, times: bank.paid.size + 1 }
          bank.paid.set(idempotencyKey, receipt)
          if (dies === 'behind') await gone()
          return receipt
        },
        lookup: (key) => {
          bank.looked.push(key)
          if (bank.lookup) return bank.lookup()
          const output = bank.paid.get(key)
          return output === undefined ? undefined : { output }
        },
      }),
    ],
  })
}

/** A process that died in the payment, and the session as the next one finds it. */
async function afterDeath(dies: 'before' | 'behind', lookup?: Lookup, more: { readonly timeoutMs?: number } = {}) {
  const { ephemeral: _, ...store } = memoryStore()
  const died = Promise.withResolvers<void>()
  const bank: Bank = { paid: new Map(), looked: [], died: died.resolve, dies, ...(lookup && { lookup }) }
  const first = await payer(store, bank).createSession({ id: 's' })
  first.send('Pay.')
  await died.promise
  for (const entry of await readLog(store, 's')) {
    if (entry.type === 'call' && entry.op === 'started') await store.release('s', entry.fence)
  }
  delete bank.dies
  const session = await payer(store, bank, more).resumeSession('s')
  return { bank, store, session, kill: () => void first.abort() }
}

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
    expect(await replaySession(payer(store, bank), await readLog(store, 's'))).toBeUndefined()
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
    expect(await replaySession(payer(store, bank), await readLog(store, 's'))).toBeUndefined()
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
