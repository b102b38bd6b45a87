import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { type GuestFrame, readDeliveries, readGuestFrame, writeDeliveries } from '../../src/engine/bridge-frame.ts'
import { shared as sandbox } from '../fixture/shared-sandbox.ts'
import { createSandbox } from '../fixture/subject.ts'

/** Any character. The fast-check unit for it builds a table of all characters, which takes a second. */
const character = fc
  .oneof(fc.integer({ min: 0, max: 0xd7ff }), fc.integer({ min: 0xe000, max: 0x10ffff }))
  .map((code) => String.fromCodePoint(code))

const full = process.env['PROVOST_TEST_FULL'] === '1'
const numRuns = full ? 1000 : 6

/** JSON with keys and texts that are easy to transfer wrongly. */
const nasty = fc.oneof(
  fc.string({ unit: character }),
  fc.constantFrom(
    '__proto__',
    'constructor',
    'prototype',
    'toJSON',
    'then',
    '\ud800',
    '\udc00x',
    '\u0000',
    '\n',
    '"',
    '\\u005f',
    '\u2028',
  ),
)
const { value: json } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom(null, true, false, 0, 1.5, -1e300, 2 ** 53, 5e-324),
    fc.integer(),
    nasty,
    fc.array(tie('value'), { maxLength: 4 }),
    fc
      .array(fc.tuple(nasty, tie('value')), { maxLength: 4 })
      .map((pairs) =>
        JSON.parse(`{${pairs.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`).join()}}`),
      ),
  ),
}))

/** The expected value, computed in another way than the bridge does. */
function expected(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return Object.is(value, -0) ? 0 : value
  if (Array.isArray(value)) return value.map((item) => expected(item))
  const kept = Object.entries(value).filter(([key, inner]) => {
    if (key === '__proto__') return false
    return key !== 'constructor' || typeof inner !== 'object' || inner === null || !Object.hasOwn(inner, 'prototype')
  })
  return Object.fromEntries(kept.map(([key, inner]) => [key, expected(inner)]))
}

/** A frame, or an empty one for rejected text. Any other exception fails the test. */
function readOrRefuse(text: string): GuestFrame {
  try {
    return readGuestFrame(text)
  } catch (error) {
    if (error instanceof RangeError || error instanceof SyntaxError) return { calls: [], lines: [], dropped: 0 }
    throw error
  }
}

describe('the bridge', () => {
  it('transfers any JSON in both directions unchanged, without prototype-polluting keys', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(json, { minLength: 1, maxLength: 8 }), async (values) => {
        const got: unknown[] = []
        const tools = {
          give: ({ i }: { i: number }) => values[i],
          take: ({ value }: { value: unknown }) => void got.push(value),
        }
        const source = `const all = []
for (let i = 0; i < ${values.length}; i++) { const value = await tools.give({ i }); await tools.take({ value }); all.push(value) }
return all`
        const { value, error } = await sandbox.run(source, { tools })
        expect(error).toBeUndefined()
        const wanted = values.map(expected)
        expect(JSON.stringify(got)).toBe(JSON.stringify(wanted))
        expect(JSON.stringify(value)).toBe(JSON.stringify(wanted))
      }),
      { numRuns },
    )
  })

  it.each([
    ['of one byte per character', 'x'],
    ['of several bytes per character', 'é日😀'],
    ['with line feeds', 'a\n,\r\n0,{}\n'],
  ])('transfers long texts %s in both directions', async (_, piece) => {
    const text = piece.repeat(300_000 / piece.length)
    const got: unknown[] = []
    const tools = { give: () => text, take: ({ value }: { value: unknown }) => void got.push(value) }
    const source = 'const value = await tools.give(); await tools.take({ value }); return value.slice(0, 60_000)'
    const { value, error } = await sandbox.run(source, { tools })
    expect(error).toBeUndefined()
    expect(got).toEqual([text])
    expect(value).toBe(text.slice(0, 60_000))
  })

  it('returns each result to its own call, for any tool names and any order of answers', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(
          nasty.filter((name) => name !== '__proto__'),
          { minLength: 1, maxLength: 5 },
        ),
        fc.array(fc.tuple(fc.nat(), fc.nat({ max: 3 })), { maxLength: 40 }),
        async (names, plan) => {
          const steps = plan.map(([pick, turns]) => ({ name: names[pick % names.length] ?? '', turns }))
          const tools = Object.fromEntries(
            names.map((name) => [
              name,
              async ({ n, turns }: { n: number; turns: number }) => {
                for (let i = 0; i < turns; i++) await new Promise((resolve) => setImmediate(resolve))
                if (turns === 3) throw new Error(`${name}/${n}`)
                return `${name}/${n}`
              },
            ]),
          )
          const source = `const steps = ${JSON.stringify(steps)}
return Promise.all(steps.map(({ name, turns }, n) => tools[name]({ n, turns }).catch((e) => '!' + e.message)))`
          const { value } = await sandbox.run(source, { tools })
          expect(value).toEqual(steps.map(({ name, turns }, n) => `${turns === 3 ? '!' : ''}${name}/${n}`))
        },
      ),
      { numRuns },
    )
  })

  it('rejects text that is not a frame', () => {
    const frame = fc.oneof(
      fc.string({ unit: character }),
      fc.tuple(fc.json(), fc.string()).map(([head, body]) => `${head}\n${body}`),
      fc
        .tuple(
          fc.array(fc.oneof(fc.integer(), fc.double(), fc.constant(null))),
          fc.array(fc.string()),
          fc.anything(),
          fc.string(),
        )
        .map(([calls, lines, end, body]) => `${JSON.stringify([calls, lines, 0, end ?? null])}\n${body}`),
    )
    fc.assert(
      fc.property(frame, (text) => {
        const { calls, lines } = readOrRefuse(text)
        expect(calls.every(({ id, tool }) => Number.isSafeInteger(id) && id >= 0 && Number.isSafeInteger(tool))).toBe(
          true,
        )
        expect(calls.every(({ args }) => typeof args === 'string')).toBe(true)
        expect(lines.every((line) => typeof line === 'string')).toBe(true)
      }),
      { numRuns: numRuns * 20 },
    )
  })

  it('reads the deliveries that it writes', () => {
    const delivery = fc.record({
      id: fc.nat(),
      ok: fc.boolean(),
      json: json.map((value) => JSON.stringify(value)),
      at: fc.nat(),
    })
    fc.assert(
      fc.property(fc.array(delivery), (deliveries) => {
        expect(readDeliveries(writeDeliveries(deliveries))).toEqual(deliveries)
      }),
      { numRuns: numRuns * 4 },
    )
  })

  it('transfers a flood of calls', async () => {
    const many = full ? 5000 : 256
    const wide = full ? createSandbox({ workers: 1, limits: { toolCalls: many } }) : sandbox
    let sum = 0
    const count = ({ n }: { n: number }) => (sum += n)
    const source = `await Promise.all(Array.from({ length: ${many} }, () => tools.count({ n: 1 }))); return 1`
    expect((await wide.run(source, { tools: { count } })).value).toBe(1)
    expect(sum).toBe(many)
    if (full) await wide.close()
  })
})
