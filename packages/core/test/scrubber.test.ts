import { createScrubber } from '@provost/core'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'

const secret = 'pa$$/w+rd "7"\n'
const shown = '⟦secret:DB⟧'

function scrubber() {
  const one = createScrubber()
  one.add('DB', secret)
  return one
}

describe('a value is found by what it is', () => {
  test.each([
    ['as it is', secret],
    ['in other case', secret.toUpperCase()],
    ['in JSON', JSON.stringify(secret).slice(1, -1)],
    ['in JSON in JSON', JSON.stringify(JSON.stringify(secret)).slice(3, -3)],
    ['in a URL', encodeURIComponent(secret)],
    ['in a form', new URLSearchParams([['', secret]]).toString().slice(1)],
    ['in hexadecimal', Buffer.from(secret).toString('hex')],
    ['in HTML', secret.replaceAll('"', '&quot;')],
  ])('%s', (_, written) => expect(scrubber().scrub(`before ${written} after`)).toBe(`before ${shown} after`))

  test('in base64, wherever it begins', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (before, after) => {
        const encoded = Buffer.from(`${before}${secret}${after}`)
        for (const format of ['base64', 'base64url'] as const)
          expect(scrubber().scrub(encoded.toString(format))).toContain(shown)
      }),
      { numRuns: 50 },
    )
  })
})

test('nested keys, numbers, messages, stacks and causes of errors are scrubbed; the value itself stays as it was', () => {
  const one = scrubber()
  one.add('PIN', '90210')
  const cause = new TypeError(`bad ${secret}`)
  const error = Object.assign(new Error(`failed with ${secret}`, { cause }), {
    config: { headers: { Authorization: `Bearer ${secret}` } },
  })
  const value = { deep: [{ [`key ${secret}`]: 90210 }], error, map: new Map([['a', secret]]), when: new Date(0) }
  const text = JSON.stringify(one.scrubValue(value))
  expect(text).not.toMatch(/pa\$\$|90210/)
  expect(text).toContain('TypeError')
  expect(text).toContain('1970')
  expect(value.error.message).toContain(secret)
})

test('cycles and depth end', () => {
  const cyclic: Record<string, unknown> = { text: secret }
  cyclic.self = cyclic
  expect(scrubber().scrubValue(cyclic)).toMatchObject({ text: shown })
  let deep: unknown = secret
  for (let n = 0; n < 10_000; n++) deep = [deep]
  expect(JSON.stringify(scrubber().scrubValue(deep))).not.toContain('pa$$')
})

test('a key that would be a prototype is only a key', () => {
  const scrubbed = scrubber().scrubValue(JSON.parse('{"__proto__":{"admin":true}}'))
  expect(Reflect.get(Object(scrubbed), 'admin')).toBeUndefined()
})

test('very short values are scrubbed only where they stand alone, and unrelated text is left as it is', () => {
  const one = createScrubber()
  one.add('PIN', 'ab')
  expect([one.scrub('ab'), one.scrub('absolutely')]).toEqual(['⟦secret:PIN⟧', 'absolutely'])
  expect(scrubber().scrub('nothing here')).toBe('nothing here')
})
