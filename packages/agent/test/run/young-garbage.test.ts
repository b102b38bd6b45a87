import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import { expect, test } from 'vitest'

const child = fileURLToPath(new URL('garbage-child.ts', import.meta.url))

// A getter in a literal, an object that another stands on, and a closure that is assigned to a field are old from birth:
// what they see is only freed with the whole heap, and each collection before copies it.
test('nothing of a run that is over outlives the collection of what is young', async ({ skip }) => {
  skip(process.env['PROVOST_TEST_FULL'] !== '1', 'in full runs')
  const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', ...process.execArgv, child])
  // One run holds some 50,000 bytes; what is left are code and shapes that V8 makes as it warms up.
  expect(Number(stdout)).toBeLessThan(15_000)
})
