import { expect, it } from 'vitest'

import { telemetry } from '../../src/index.ts'

it.each([
  ['a kind that does not exist', { recordContent: ['message'] }],
  ['a kind in place of a list', { recordContent: 'messages' }],
  ['a length that is no number', { maxContentLength: Number.NaN }],
  ['a length of 0', { maxContentLength: 0 }],
  ['names that do not exist', { metricNames: 'old' }],
])('telemetry rejects %s', (_, options: object) => {
  expect(() => telemetry(options)).toThrow(expect.objectContaining({ code: 'invalid-option' }))
})
