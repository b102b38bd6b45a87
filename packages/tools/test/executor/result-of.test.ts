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

test('resultOf validates and labels a remote result like a local one, synchronously', () => {
  expect(resultOf(row, { total: 3, extra: 1 }, { id: 'a' })).toEqual({
    outcome: 'ok',
    value: { total: 3 },
    output: { type: 'json', value: { total: 3 } },
    label: { integrity: 'untrusted', confidentiality: 'internal', sources: ['A', '3'] },
    fields: { '/total': { integrity: 'trusted', confidentiality: 'internal', sources: ['A', '3'] } },
    durationMs: 0,
  })
})

test('resultOf turns an invalid remote result into an error of the call', () => {
  expect(resultOf(row, { total: 'x' }, { id: 'a' })).toMatchObject({
    outcome: 'error',
    error: { code: 'invalid-tool-output' },
  })
})

test('resultOf withholds the result if the input of its label is no longer valid', () => {
  expect(resultOf(row, { total: 1 }, { id: 7 })).toMatchObject({
    outcome: 'error',
    error: { code: 'invalid-tool-input' },
  })
})

test('resultOf awaits asynchronous validation', async () => {
  const late = tool({ name: 'late', input: z.object({}), output: z.string().refine(async (text) => text !== 'no') })
  expect(await resultOf(late, 'yes', {})).toMatchObject({ outcome: 'ok', value: 'yes' })
  expect(await resultOf(late, 'no', {})).toMatchObject({ outcome: 'error' })
})

test('resultOf turns invalid data into an error without a throw', () => {
  expect(resultOf(tool({ name: 't', input: z.object({}) }), 1n, {})).toMatchObject({
    outcome: 'error',
    error: { code: 'not-json' },
  })
})
