import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, expect, test } from 'vitest'

import { openMailbox } from '../src/mailbox.ts'

const folder = mkdtempSync(join(tmpdir(), 'provost-mail-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('while a mail of 20,000 lines is read, the desk does other work', async () => {
  writeFileSync(join(folder, 'lines.eml'), `From: ann@example.com\r\n\r\n${'\r\n'.repeat(20_000)}x`)
  const mailbox = await openMailbox(folder)
  let turns = 0
  const turn = (): void => {
    turns++
    timer = setImmediate(turn)
  }
  let timer = setImmediate(turn)
  const mail = await mailbox.read('lines.eml')
  clearImmediate(timer)
  expect(mail.text).toBe('x')
  // In the main thread all of the reading would be one turn.
  expect(turns).toBeGreaterThan(20)
})

test('an invalid mail fails with the reason, and the thread reads the next one', async () => {
  writeFileSync(join(folder, 'none.eml'), 'no headers')
  writeFileSync(join(folder, 'good.eml'), 'From: ann@example.com\r\nSubject: Hello\r\n\r\nx\r\n')
  const mailbox = await openMailbox(folder)
  const [none, good] = await Promise.allSettled([mailbox.read('none.eml'), mailbox.read('good.eml')])
  expect(none).toMatchObject({ status: 'rejected', reason: { kind: 'mail', message: expect.stringContaining('From') } })
  expect(good).toMatchObject({ status: 'fulfilled', value: { subject: 'Hello', from: 'ann@example.com' } })
})
