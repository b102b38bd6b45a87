import { mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import PostalMime from 'postal-mime'
import { expect, test } from 'vitest'

import type { Mail } from '../src/mail.ts'
import { type Outbox, openOutbox } from '../src/outbox.ts'
import { openSamples } from './samples.ts'

const outbox = (): Outbox => openOutbox(join(mkdtempSync(join(tmpdir(), 'desk-')), 'outbox'))
const sample = async (): Promise<Mail> => (await openSamples()).read('04-latin1-quoted-printable.eml')
const letter = { to: 'joerg@weissmueller.example.net', subject: 'Re: Rückerstattung – 1042', body: 'Grüße\nfrom us' }

test('a reply can be read back with its headers and text', async () => {
  const { dir, reply } = outbox()
  const raw = readFileSync(join(dir, await reply(await sample(), letter)))
  const mail = await PostalMime.parse(raw)
  expect(mail.subject).toBe('Re: Rückerstattung – 1042')
  expect(mail.inReplyTo).toBe('<04.1042@weissmueller.example.net>')
  expect(mail.text).toBe('Grüße\nfrom us\n')
})

test('a forward contains the original mail', async () => {
  const { dir, forward } = outbox()
  const original = await sample()
  const raw = readFileSync(join(dir, await forward(original, letter)))
  expect(raw.includes(Buffer.from(original.raw))).toBe(true)
  const { attachments } = await PostalMime.parse(raw)
  expect(attachments.map(({ filename, mimeType }) => [filename, mimeType])).toEqual([
    ['04-latin1-quoted-printable.eml', 'message/rfc822'],
  ])
})

test('a line break in a subject or an address does not start a header', async () => {
  const { dir, reply } = outbox()
  const name = await reply(await sample(), {
    to: 'a@example.org\r\nBcc: b@example.org',
    subject: 'x\nBcc: c@example.org\u2028d',
    body: 'y',
  })
  const mail = await PostalMime.parse(readFileSync(join(dir, name)))
  expect(mail.headers.map(({ key }) => key)).not.toContain('bcc')
})

test('no file name leaves the folder', async () => {
  const { dir, reply } = outbox()
  const mail = await sample()
  for (const name of ['../../../etc/x.eml', '..', '/abs.eml', 'a\u0000b.eml'])
    await reply({ ...mail, name }, { ...letter, to: '../up@example.org' })
  for (const name of readdirSync(dir))
    expect(name).toMatch(/^[a-z-]*[^/]*\.reply-to-up@example\.org\.eml$|^[^./][^/]*\.eml$/)
  expect(readdirSync(join(dir, '..'))).toEqual(['outbox'])
})

test('a second draft to the same address replaces the first, without partial files', async () => {
  const { dir, reply, clear } = outbox()
  const mail = await sample()
  await Promise.all(Array.from({ length: 8 }, (_, i) => reply(mail, { ...letter, body: `version ${i}` })))
  expect(readdirSync(dir)).toHaveLength(1)
  await clear()
  expect(readdirSync(dir)).toEqual([])
})
