import { inspect } from 'node:util'

import { createScrubber, ProvostError, scrubError } from '@provost/core'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'

const secret = 'pa$$/w+rd "7"\n'
const shown = '⟦secret:DB⟧'

function scrubber() {
  const one = createScrubber()
  one.add('DB', secret)
  return one
}

describe('the scrubber finds the value of a secret', () => {
  test.each([
    ['in plain text', secret],
    ['in another case', secret.toUpperCase()],
    ['in JSON', JSON.stringify(secret).slice(1, -1)],
    ['in a URL that is part of another', encodeURIComponent(encodeURIComponent(secret))],
    ['in JSON in JSON', JSON.stringify(JSON.stringify(secret)).slice(3, -3)],
    ['in a URL', encodeURIComponent(secret)],
    ['in a form', new URLSearchParams([['', secret]]).toString().slice(1)],
    ['in hexadecimal', Buffer.from(secret).toString('hex')],
    ['in HTML', secret.replaceAll('"', '&quot;')],
  ])('%s', (_, written) => expect(scrubber().scrub(`before ${written} after`)).toBe(`before ${shown} after`))

  test('in base64, at any offset', () => {
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

test('the scrubber replaces secrets in nested keys, numbers, and messages, stacks and causes of errors, and leaves its input unchanged', () => {
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

test('the scrubber ends at cycles and at too deep values', () => {
  const cyclic: Record<string, unknown> = { text: secret }
  cyclic.self = cyclic
  expect(scrubber().scrubValue(cyclic)).toMatchObject({ text: shown })
  let deep: unknown = secret
  for (let n = 0; n < 10_000; n++) deep = [deep]
  expect(JSON.stringify(scrubber().scrubValue(deep))).not.toContain('pa$$')
})

test('the key __proto__ is an ordinary key', () => {
  const scrubbed = scrubber().scrubValue(JSON.parse('{"__proto__":{"admin":true}}'))
  expect(Reflect.get(Object(scrubbed), 'admin')).toBeUndefined()
})

test('the scrubber replaces a very short value only as a whole word, and leaves unrelated text unchanged', () => {
  const one = createScrubber()
  one.add('PIN', 'ab')
  expect([one.scrub('ab'), one.scrub('absolutely')]).toEqual(['⟦secret:PIN⟧', 'absolutely'])
  expect(scrubber().scrub('nothing here')).toBe('nothing here')
})

describe('in the arguments of a call', () => {
  test('a plain secret becomes a token that can be reversed, and an encoded one does not', () => {
    const one = scrubber()
    const encoded = Buffer.from(secret).toString('base64')
    expect(one.tokenise({ [secret]: [`a${secret}b`, encoded.slice(0, -2), secret.toUpperCase(), 7, null] })).toEqual({
      [shown]: [`a${shown}b`, '⟦redacted:DB⟧', '⟦redacted:DB⟧', 7, null],
    })
  })

  test('a value without a secret stays the same object, and a number with the digits of a secret stays a number', () => {
    const one = scrubber()
    one.add('PIN', '9021')
    const args = { a: [1, { b: 'text' }], n: 190215 }
    expect(one.tokenise(args)).toBe(args)
    expect(one.scrubJson(args)).toBe(args)
    expect(one.tokenise([9021])).toEqual(['⟦secret:PIN⟧'])
  })
})

test('scrubbing twice equals scrubbing once, even if a secret is the word secret', () => {
  const one = createScrubber()
  one.add('secret', 'secret')
  one.add('DB', 'hunter2')
  const once = one.scrub('my secret: hunter2')
  expect(once).toBe('my ⟦secret:secret⟧: ⟦secret:DB⟧')
  expect(one.scrub(once)).toBe(once)
  // A token with an unknown name hides nothing.
  expect(one.scrub('⟦secret:hunter2⟧')).not.toContain('hunter2')
})

test('a text in pieces is scrubbed like the whole text, wherever it is cut', () => {
  const one = scrubber()
  one.add('AB', 'abab-cd')
  one.add('BC', 'ab-cdef')
  const bits = fc.constantFrom('abab-cd', 'ab-cdef', secret, 'ab', 'a', '-c', 'İ', 'pa$$', ' ')
  fc.assert(
    fc.property(fc.array(bits, { maxLength: 12 }), fc.infiniteStream(fc.nat(5)), (words, sizes) => {
      const text = words.join('')
      const stream = one.stream()
      let out = ''
      for (let at = 0; at < text.length;) {
        const size = 1 + (sizes.next().value ?? 0)
        out += stream.push(text.slice(at, at + size))
        at += size
      }
      out += stream.end()
      expect(out).not.toMatch(/abab-cd|ab-cdef|pa\$\$\/w/)
      expect(out).toBe(one.scrub(text))
    }),
    { numRuns: 200 },
  )
})

test('an error without a secret stays the same object, and one with a secret becomes a clean copy', () => {
  const one = scrubber()
  const clean = new ProvostError('x', 'clean', { cause: new TypeError('clean') })
  expect(scrubError(one, clean)).toBe(clean)
  const dirty = new ProvostError('x', `a ${secret}`, {
    hint: secret,
    cause: Object.assign(new TypeError(secret), { secret }),
  })
  const scrubbed = scrubError(one, dirty)
  expect(scrubbed).toMatchObject({ name: 'ProvostError', code: 'x', message: `a ${shown}`, hint: shown })
  expect(scrubbed).toMatchObject({ cause: { name: 'TypeError' } })
  expect(inspect(scrubbed, { depth: 9, showHidden: true })).not.toContain('pa$$')
})

describe('scrubError returns a copy without the secret if it is', () => {
  const chain = (length: number): Error =>
    Array.from({ length }).reduce<Error>((cause) => new Error('failed', { cause }), new Error(secret))
  const holding = (held: unknown) => Object.assign(new Error('failed'), { held })
  test.each<[string, unknown]>([
    [
      'in an AggregateError',
      new Error('failed', { cause: new AggregateError([new AggregateError([new Error(secret)])]) }),
    ],
    ['at the end of a long chain of causes', chain(process.env['PROVOST_TEST_FULL'] === '1' ? 300 : 120)],
    ['in its name', Object.assign(new Error('failed'), { name: secret })],
    ['in a key that is a symbol', Object.assign(new Error('failed'), { [Symbol(secret)]: 1 })],
    ['in a symbol', holding(Symbol(secret))],
    ['in a field that is not enumerable', Object.defineProperty(new Error('failed'), 'held', { value: secret })],
    ['in a field that is inherited', holding(Object.create({ secret }))],
    ['in a key of a map', holding(new Map([[secret, 1]]))],
    ['in a field of a function', holding(Object.assign(() => {}, { secret }))],
    ['in a boxed text', holding(Object(secret))],
    ['in headers', holding(new Headers({ authorization: JSON.stringify(secret) }))],
  ])('%s', (_, hidden) => {
    const scrubbed = inspect(scrubError(scrubber(), hidden), { depth: 1000, showHidden: true })
    expect(leaks(scrubbed)).toBe(false)
  })

  const leaks = (text: string): boolean =>
    [secret, JSON.stringify(secret).slice(1, -1), inspect(secret).slice(1, -1)].some((one) => text.includes(one))
})

describe('scrubError returns an error for a thrown value that cannot be read', () => {
  const revoked = (): unknown => {
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    return proxy
  }
  const throwing = {
    key: secret,
    get field() {
      throw new Error('from the getter')
    },
  }
  test.each<[string, unknown]>([
    ['a revoked proxy', revoked()],
    ['an object with a getter that throws', throwing],
  ])('%s', (_, thrown) => {
    expect(scrubError(scrubber(), thrown)).toMatchObject({ message: 'A value that cannot be read was thrown.' })
  })

  test('an error that is its own cause', () => {
    const error = new ProvostError('odd', `see ${secret}`)
    error.cause = error
    const scrubbed = scrubError(scrubber(), error)
    expect(scrubbed).toMatchObject({ code: 'odd', message: `see ${shown}` })
    expect(inspect(scrubbed, { depth: 1000, showHidden: true })).not.toContain(secret)
  })
})

test('bytes in a value are searched as text, and stay bytes', () => {
  const one = scrubber()
  const held = { body: Buffer.from(`a ${secret} b`), picture: new Uint8Array([1, 2, 3]) }
  expect(one.holds(held)).toBe(true)
  expect(one.holds({ picture: held.picture })).toBe(false)
  const body: unknown = Reflect.get(Object(one.scrubValue(held)), 'body')
  expect(body).toEqual(new Uint8Array(Buffer.from(`a ${shown} b`)))
  expect(one.scrubValue(held)).toMatchObject({ picture: held.picture })
  const error = scrubError(one, Object.assign(new Error('failed'), { body: held.body }))
  expect(error).not.toHaveProperty('body')
})
