import { randomUUID } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { open, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'

import { DeskError, reasonOf } from './fault.ts'
import type { Mail } from './mail.ts'

/** A letter of the desk. */
export interface Letter {
  readonly to: string
  readonly subject: string
  readonly body: string
}

/**
 * A folder of drafts. The desk sends nothing: a person or another program does. A new draft replaces an older one for
 * the same mail, kind and destination.
 */
export interface Outbox {
  readonly dir: string
  /** Drafts a reply to a mail; returns the file name. */
  reply(mail: Mail, letter: Letter): Promise<string>
  /** Drafts a letter with the original mail attached; returns the file name. */
  forward(mail: Mail, letter: Letter): Promise<string>
  /** Removes all drafts. */
  clear(): Promise<void>
}

const sender = 'Tallow Lane Supply <support@tallowlane.example.com>'

/** @throws DeskError of kind `usage` when the folder cannot be created. */
export function openOutbox(dir: string): Outbox {
  try {
    mkdirSync(dir, { recursive: true })
  } catch (cause) {
    throw new DeskError('usage', `The outbox ${dir} cannot be created: ${reasonOf(cause)}.`, { cause })
  }
  return {
    dir,
    async reply(mail, letter) {
      const name = fileName(mail, 'reply', letter.to)
      // The key of a mail without a Message-ID is a hash, which mail programs do not know.
      const answered = mail.key.startsWith('<') ? [header('In-Reply-To', mail.key)] : []
      const headers = [...headersOf(letter), ...answered, ...textHeaders]
      await write(dir, name, [`${headers.join('\r\n')}\r\n\r\n${crlf(letter.body)}\r\n`])
      return name
    },
    async forward(mail, letter) {
      const name = fileName(mail, 'forward', letter.to)
      const boundary = randomUUID()
      const headers = [...headersOf(letter), `Content-Type: multipart/mixed; boundary="${boundary}"`]
      const text = `--${boundary}\r\n${textHeaders.join('\r\n')}\r\n\r\n${crlf(letter.body)}\r\n`
      const file = header('Content-Disposition', `attachment; filename="${slug(mail.name)}"`)
      const original = `--${boundary}\r\nContent-Type: message/rfc822\r\n${file}\r\n\r\n`
      await write(dir, name, [`${headers.join('\r\n')}\r\n\r\n${text}${original}`, mail.raw, `\r\n--${boundary}--\r\n`])
      return name
    },
    async clear() {
      for (const name of await readdir(dir)) if (name.endsWith('.eml')) await rm(join(dir, name))
    },
  }
}

const textHeaders = ['Content-Type: text/plain; charset=utf-8', 'Content-Transfer-Encoding: 8bit']

function headersOf({ to, subject }: Letter): string[] {
  const date = new Date().toUTCString().replace('GMT', '+0000')
  return [
    header('From', sender),
    header('To', to),
    header('Subject', subject),
    header('Date', date),
    'X-Unsent: 1',
    'MIME-Version: 1.0',
  ]
}

/** Writes a header on one line. A line break in the value would start another header. */
function header(name: string, value: string): string {
  const line = value.replace(/[\p{Cc}\u2028\u2029]+/gu, ' ').trim()
  // 45 bytes of text give 60 characters of base64, so an encoded word stays under its limit of 75.
  const words = /^[\x20-\x7e]*$/.test(line) ? [line] : chunks(line, 45).map((chunk) => `=?utf-8?B?${chunk}?=`)
  return `${name}: ${words.join('\r\n ')}`
}

function chunks(text: string, bytes: number): string[] {
  const all: string[] = []
  let part = ''
  for (const letter of text) {
    if (Buffer.byteLength(part + letter) > bytes) {
      all.push(Buffer.from(part).toString('base64'))
      part = ''
    }
    part += letter
  }
  return [...all, Buffer.from(part).toString('base64')]
}

function crlf(text: string): string {
  return text.replace(/\r\n|\r|\n/g, '\r\n')
}

function fileName(mail: Mail, kind: string, to: string): string {
  return `${slug(mail.name.replace(/\.eml$/i, ''))}.${kind}-to-${slug(to)}.eml`
}

/** Characters that are safe in a file name, not starting with a dot. */
function slug(text: string): string {
  const name = text.replace(/[^\p{L}\p{N}@._-]+/gu, '-').replace(/^[.-]+/, '')
  return name.slice(0, 80) || 'unnamed'
}

/** Writes atomically: readers of the folder never see half a draft. */
async function write(dir: string, name: string, pieces: readonly (string | Uint8Array)[]): Promise<void> {
  const temporary = join(dir, `.${randomUUID()}.part`)
  try {
    const file = await open(temporary, 'wx')
    try {
      for (const piece of pieces) await file.writeFile(piece)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(temporary, join(dir, name))
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
}
