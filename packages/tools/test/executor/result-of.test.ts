import { resultOf, tool } from '@provost/tools'
import { expect, test } from 'vitest'
import { z } from 'zod'

const row = tool({
  name: 'row',
  input: z.object({ id: z.string().toUpperCase() }),
  output: z.object({ total: z.number() }),
  returns: (output, { id }) => ({ sources: [id, output.total.toFixed()] }),
  trustedFields: ['/total'],
})

test('a result from elsewhere is validated and labelled as an executed one, without a promise', () => {
  expect(resultOf(row, { total: 3, extra: 1 }, { id: 'a' })).toEqual({
    outcome: 'ok',
    value: { total: 3 },
    output: { type: 'json', value: { total: 3 } },
    label: { integrity: 'untrusted', confidentiality: 'internal', sources: ['A', '3'] },
    fields: { '/total': { integrity: 'trusted', confidentiality: 'internal', sources: ['A', '3'] } },
    durationMs: 0,
  })
})

test('a result from elsewhere that does not fit is an error of the call', () => {
  expect(resultOf(row, { total: 'x' }, { id: 'a' })).toMatchObject({
    outcome: 'error',
    error: { code: 'invalid-tool-output' },
  })
})

test('a label that depends on an input that does not fit any more is not guessed', () => {
  expect(resultOf(row, { total: 1 }, { id: 7 })).toMatchObject({
    outcome: 'error',
    error: { code: 'invalid-tool-input' },
  })
})

test('asynchronous validation is waited for', async () => {
  const late = tool({ name: 'late', input: z.object({}), output: z.string().refine(async (text) => text !== 'no') })
  expect(await resultOf(late, 'yes', {})).toMatchObject({ outcome: 'ok', value: 'yes' })
  expect(await resultOf(late, 'no', {})).toMatchObject({ outcome: 'error' })
})

test('what is no data is an error, not an exception', () => {
  expect(resultOf(tool({ name: 't', input: z.object({}) }), 1n, {})).toMatchObject({
    outcome: 'error',
    error: { code: 'not-json' },
  })
})
