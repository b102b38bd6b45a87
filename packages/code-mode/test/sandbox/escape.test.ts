import { afterAll, describe, expect, it } from 'vitest'

import { shared as patient } from '../fixture/shared-sandbox.ts'
import { createSandbox, followsValues } from '../fixture/subject.ts'
import { reaching, wasting } from './payload.ts'

/** A wasteful script costs tens of milliseconds, some a thread: every fourth runs by default, all in CI. */
const full = process.env['PROVOST_TEST_FULL'] === '1'
const isCostly = (codes: readonly string[]) => codes.includes('cpu-limit') || codes.includes('memory-limit')
const costly = wasting.filter(([, , codes]) => isCostly(codes))
const sampled = full ? wasting : wasting.filter((one) => !isCostly(one[2]) || costly.indexOf(one) % 4 === 0)

// Small limits: eighty scripts use all of them.
const strict = createSandbox({ workers: 1, limits: { cpuMs: 12, memoryBytes: 5 << 20 } })

afterAll(() => strict.close())

const tools = {
  echo: (input: unknown) => input,
  fail: () => {
    throw Object.assign(new Error('refused', { cause: new Error('inside') }), { secret: 'of the host' })
  },
  hostile: () =>
    JSON.parse(
      '{"a":{"__proto__":{"polluted":1}},"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}',
    ),
}

/** What differs in a host that a script reached. */
function expectHostUntouched(): void {
  expect(Reflect.get({}, 'polluted')).toBeUndefined()
  expect(Reflect.get([], 'polluted')).toBeUndefined()
  expect(Reflect.get(globalThis, 'reached')).toBeUndefined()
}

describe('a hostile script that reaches for the host', () => {
  it.concurrent.each(reaching)('gets nothing: %s', async (_name, source) => {
    const { value } = await patient.run(source, { tools })
    expect(value).not.toBe(true)
    expect(Object.hasOwn(Object(value), '__proto__')).toBe(false)
    expectHostUntouched()
  })
})

describe('a hostile script that wastes resources', () => {
  it.concurrent.each(sampled)('ends with a code for it: %s', async (_name, source, codes) => {
    const { ok, error } = await (isCostly(codes) ? strict : patient).run(source, { tools })
    expect(ok).toBe(false)
    // With short limits, a busy machine may reach another limit first.
    // Where values are followed, some scripts are refused before they begin, and a thenable is called at once.
    const refused = followsValues ? ['syntax-error', 'script-error', 'stack-limit'] : []
    expect([...codes, ...refused, ...(isCostly(codes) ? ['cpu-limit'] : [])]).toContain(error?.code)
    expect(error?.message).not.toBe('')
    expect(error?.message.length).toBeLessThan(2200)
    expectHostUntouched()
  })

  it('leaves the sandbox usable', async () => {
    const { value } = await strict.run('return (await tools.echo({ a: [1, 2] })).a', { tools })
    expect(value).toEqual([1, 2])
  })
})
