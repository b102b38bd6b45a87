import { afterAll, describe, expect, it } from 'vitest'

import { createSandbox } from '../../src/index.ts'
import { shared as patient } from '../fixture/shared-sandbox.ts'
import { reaching, wasting } from './payload.ts'

/** Each that wastes costs tens of milliseconds, and some a thread: by default every fourth of them runs, in CI all. */
const full = process.env['PROVOST_TEST_FULL'] === '1'
const isCostly = (codes: readonly string[]) => codes.includes('cpu-limit') || codes.includes('memory-limit')
const costly = wasting.filter(([, , codes]) => isCostly(codes))
const sampled = full ? wasting : wasting.filter((one) => !isCostly(one[2]) || costly.indexOf(one) % 4 === 0)

// Little of both: eighty scripts use up all they are given.
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

/** What a host that was reached would show. */
function expectHostUntouched(): void {
  expect(Reflect.get({}, 'polluted')).toBeUndefined()
  expect(Reflect.get([], 'polluted')).toBeUndefined()
  expect(Reflect.get(globalThis, 'reached')).toBeUndefined()
}

describe('what hostile scripts reach for', () => {
  it.concurrent.each(reaching)('%s is not to be had', async (_name, source) => {
    const { value } = await patient.run(source, { tools })
    expect(value).not.toBe(true)
    expect(Object.hasOwn(Object(value), '__proto__')).toBe(false)
    expectHostUntouched()
  })
})

describe('what hostile scripts waste', () => {
  it.concurrent.each(sampled)('%s ends with an error that says so', async (_name, source, codes) => {
    const { ok, error } = await (isCostly(codes) ? strict : patient).run(source, { tools })
    expect(ok).toBe(false)
    // Where the time is short, a busy machine may need all of it for less.
    expect(isCostly(codes) ? [...codes, 'cpu-limit'] : codes).toContain(error?.code)
    expect(error?.message).not.toBe('')
    expect(error?.message.length).toBeLessThan(2200)
    expectHostUntouched()
  })

  it('and leaves the sandbox as it was', async () => {
    const { value } = await strict.run('return (await tools.echo({ a: [1, 2] })).a', { tools })
    expect(value).toEqual([1, 2])
  })
})
