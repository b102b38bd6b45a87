import { assertNever, fromErrorInfo, ProvostError, SessionBusyError, toErrorInfo } from '@provost/core'
import { describe, expect, test } from 'vitest'

describe('a ProvostError', () => {
  const cause = new Error('refused')
  const error = new ProvostError('store-gone', 'The store at x is gone.', { hint: 'Start it.', retryable: true, cause })

  test('states what happened, what to do and why', () => {
    expect(error).toBeInstanceOf(Error)
    expect(error).toMatchObject({ name: 'ProvostError', code: 'store-gone', hint: 'Start it.', retryable: true, cause })
    expect(String(error)).toBe('ProvostError: The store at x is gone.')
    expect(error.stack).toContain('error.test.ts')
  })

  test('serializes without its stack and its cause', () => {
    expect(JSON.parse(JSON.stringify(error))).toStrictEqual({
      code: 'store-gone',
      message: 'The store at x is gone.',
      hint: 'Start it.',
      retryable: true,
    })
  })

  test('has no hint and no cause by default', () => {
    const bare = new ProvostError('odd', 'Odd.')
    expect(bare).toMatchObject({ hint: '', retryable: false })
    expect('cause' in bare).toBe(false)
    expect(JSON.parse(JSON.stringify(bare))).toStrictEqual({ code: 'odd', message: 'Odd.' })
  })

  test('is restored from its data', () => {
    const again = fromErrorInfo(error.toJSON(), 'somewhere')
    expect(again).toBeInstanceOf(ProvostError)
    expect(again.toJSON()).toEqual(error.toJSON())
    expect(again.cause).toBe('somewhere')
  })
})

test('SessionBusyError names the session, and is recognised by its class, its name and its code', () => {
  const error = new SessionBusyError('s-1')
  expect(error).toBeInstanceOf(ProvostError)
  expect(error).toMatchObject({ name: 'SessionBusyError', code: 'session-busy', retryable: true })
  expect(error.message).toContain('s-1')
})

test.for<[string, unknown, string | undefined, object]>([
  [
    'of ours as it is',
    new ProvostError('mine', 'Mine.', { hint: 'h' }),
    'other',
    { code: 'mine', message: 'Mine.', hint: 'h' },
  ],
  [
    'of others with the code of the place',
    new TypeError('bad'),
    'tool-failed',
    { code: 'tool-failed', message: 'bad' },
  ],
  ['without a default code', new Error('bad'), undefined, { code: 'unexpected', message: 'bad' }],
  ['without a message', new RangeError(), undefined, { code: 'unexpected', message: 'RangeError' }],
  ['that is a string', 'just text', undefined, { code: 'unexpected', message: 'just text' }],
  ['that is undefined', undefined, undefined, { code: 'unexpected', message: expect.stringContaining('undefined') }],
  ['that is an object', { status: 429 }, undefined, { code: 'unexpected', message: expect.stringContaining('object') }],
])('toErrorInfo accepts any thrown value: an error %s', ([, thrown, code, expected]) => {
  expect(toErrorInfo(thrown, code)).toEqual(expected)
})

test('a thrown value that cannot be read becomes data: a revoked proxy, an error with a throwing message', () => {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  const hostile = Object.defineProperty(new Error('x'), 'message', {
    get() {
      throw new Error('from the getter')
    },
  })
  const unreadable = { code: 'unexpected', message: 'A value that cannot be read was thrown.' }
  expect([toErrorInfo(proxy), toErrorInfo(hostile)]).toEqual([unreadable, unreadable])
})

test('assertNever throws for data of a newer version', () => {
  const unknown: unknown = { type: 'later' }
  expect(() => assertNever(unknown as never)).toThrow(
    expect.objectContaining({ code: 'unhandled-case', message: expect.stringContaining('later') }),
  )
})

test('assertNever names an unknown case without its content, which may have secrets', () => {
  const deep: unknown = JSON.parse('['.repeat(50_000) + ']'.repeat(50_000))
  for (const unknown of [{ type: 'later', text: 'canary', op: 'new' }, deep, 10n, `canary${'x'.repeat(1_000)}`]) {
    expect(() => assertNever(unknown as never)).toThrow(expect.objectContaining({ code: 'unhandled-case' }))
  }
  const entry: unknown = { type: 'later', op: 'new', text: 'canary' }
  expect(() => assertNever(entry as never)).toThrow('Nothing handles {"type":"later","op":"new"}.')
})
