import { defineExtension } from '@provost/core'
import { expect, test } from 'vitest'

test('an extension is frozen', () => {
  expect(Object.isFrozen(defineExtension({ name: 'audit' }))).toBe(true)
})

test.each([[{}], [{ name: '' }], [{ name: 5 }]])('an extension without a name is rejected: %j', (options: object) => {
  // @ts-expect-error -- as JavaScript gives it
  expect(() => defineExtension(options)).toThrow(expect.objectContaining({ code: 'invalid-extension' }))
})
