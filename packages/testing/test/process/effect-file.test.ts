import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { noPendingWork, type PendingUncertain } from '@provost/core'
import { afterAll, expect, it } from 'vitest'

import { crashAt, effectFile } from '../../src/index.ts'

const folder = mkdtempSync(join(tmpdir(), 'provost-effects-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const call = (callId: string) => ({ callId, idempotencyKey: `key of ${callId}` })

it('effectFile writes an effect before it is reported, and answers distinguishes done from not done', async () => {
  const outside = effectFile(join(folder, 'effects'))
  expect(outside.read()).toEqual([])
  expect(await outside.effect('paid')({}, call('a'))).toBe('paid')
  const crash = crashAt(2, () => {})
  void outside.effect({ seat: 7 }, crash)({}, call('b'))
  await expect.poll(() => crash.moments.length).toBe(2)
  expect(outside.read()).toEqual([
    { callId: 'a', key: 'key of a', output: 'paid' },
    { callId: 'b', key: 'key of b', output: { seat: 7 } },
  ])
  const uncertain = ['b', 'c'].map((callId): PendingUncertain => ({
    id: callId,
    callId,
    toolName: 'book',
    input: {},
    agent: 'clerk',
    runPath: [],
    startedAt: 0,
  }))
  expect(outside.answers({ ...noPendingWork, uncertain }, null).uncertain).toEqual([
    { callId: 'b', decision: 'done', output: { seat: 7 } },
    { callId: 'c', decision: 'retry' },
  ])
})
