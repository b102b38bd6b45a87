import { effectServer } from '@provost/testing'
import type { EffectFault, EffectServer } from '@provost/testing'
import { afterEach, describe, expect, it } from 'vitest'

const open: EffectServer[] = []

afterEach(async () => {
  for (const server of open.splice(0)) await server.close()
})

async function serverWith(options: Parameters<typeof effectServer>[0] = {}): Promise<EffectServer> {
  const server = await effectServer(options)
  open.push(server)
  return server
}

function ask(server: EffectServer, key = 'k', body = '{"amount":80}', timeoutMs = 5_000): Promise<Response> {
  const headers = { 'idempotency-key': key }
  return fetch(`${server.url}/effects`, { method: 'POST', headers, body, signal: AbortSignal.timeout(timeoutMs) })
}

const outcomeOf = async (asked: Promise<Response>): Promise<number | 'lost'> =>
  asked.then(
    ({ status }) => status,
    () => 'lost',
  )

describe('effectServer', () => {
  it('performs each effect once by its key and returns the same id', async () => {
    const bank = await serverWith()
    const first = await ask(bank)
    expect([first.status, await first.json()]).toEqual([201, { id: 1 }])
    expect(await (await ask(bank)).json()).toEqual({ id: 1 })
    await ask(bank, 'other')
    expect(bank.effects).toEqual([
      { id: 1, key: 'k', body: { amount: 80 } },
      { id: 2, key: 'other', body: { amount: 80 } },
    ])
    expect(bank.requests).toBe(3)
  })

  it('performs an effect for each request where it does not know keys', async () => {
    const bank = await serverWith({ knowsKeys: false })
    await ask(bank)
    await ask(bank)
    expect(bank.effects.map(({ key }) => key)).toEqual(['k', 'k'])
  })

  it.each<[EffectFault, number | 'lost', number]>([
    ['drop', 'lost', 0],
    ['lose-reply', 'lost', 1],
    ['hang', 'lost', 1],
    ['double', 201, 2],
    ['reject', 422, 0],
    ['error', 500, 0],
    ['error-after', 500, 1],
    [{ delayMs: 1 }, 201, 1],
    [{ lateMs: 1 }, 201, 1],
  ])('with the fault %j the client sees %s, and %i effects took place', async (fault, seen, count) => {
    const bank = await serverWith({ knowsKeys: false, faults: [fault] })
    expect(await outcomeOf(ask(bank, 'k', '{}', fault === 'hang' ? 100 : 5_000))).toBe(seen)
    expect(bank.effects).toHaveLength(count)
    expect(await outcomeOf(ask(bank, 'next'))).toBe(201)
  })

  it('performs a late effect although its client has left, and has settled then', async () => {
    const bank = await serverWith({ faults: [{ lateMs: 300 }] })
    const leaving = new AbortController()
    const asked = fetch(`${bank.url}/effects`, { method: 'POST', body: '{}', signal: leaving.signal })
    await expect.poll(() => bank.requests).toBe(1)
    leaving.abort()
    await expect(asked).rejects.toThrow('abort')
    await bank.settled()
    expect(bank.effects).toHaveLength(1)
  })

  it('tells whether an effect took place', async () => {
    const bank = await serverWith({ faults: ['lose-reply'] })
    const found = async (key: string): Promise<readonly [number, unknown]> => {
      const response = await fetch(`${bank.url}/effects/${encodeURIComponent(key)}`)
      return [response.status, await response.json()]
    }
    expect((await found('a/b'))[0]).toBe(404)
    await ask(bank, 'a/b').catch(() => {})
    expect(await found('a/b')).toEqual([200, { id: 1 }])
    expect(bank.lookups).toBe(2)
  })

  it('takes faults for the requests that come next', async () => {
    const bank = await serverWith()
    await ask(bank, 'first')
    bank.fail(undefined, 'reject')
    expect(await outcomeOf(ask(bank, 'second'))).toBe(201)
    expect(await outcomeOf(ask(bank, 'third'))).toBe(422)
    expect(await outcomeOf(ask(bank, 'fourth'))).toBe(201)
  })

  it('rejects a body that is not JSON and options that it does not know', async () => {
    const bank = await serverWith()
    expect(await outcomeOf(ask(bank, 'k', '{'))).toBe(400)
    expect(bank.effects).toHaveLength(0)
    // @ts-expect-error -- the option is misspelt
    await expect(effectServer({ fault: ['drop'] })).rejects.toMatchObject({ code: 'unknown-option' })
  })
})
