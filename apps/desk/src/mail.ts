import { createHash } from 'node:crypto'

import PostalMime, { type Address, type Attachment, type Email } from 'postal-mime'

import { DeskError, reasonOf } from './fault.ts'
import { textOfHtml } from './html.ts'

/** An attachment. */
export interface MailAttachment {
  readonly name: string
  readonly type: string
  readonly bytes: number
  /** Its content when it is a text type; at most 8,000 characters. */
  readonly text?: string
}

/** A mail as the desk uses it. Its sender wrote everything in it. */
export interface Mail {
  /** The file name in the mail folder, by which tools name the mail. */
  readonly name: string
  /** Its Message-ID, or the hash of its bytes. It identifies the mail under any file name. */
  readonly key: string
  readonly from: string
  readonly fromName: string
  /** Address for the reply, if it differs from `from`. */
  readonly replyTo?: string
  readonly subject: string
  /** ISO 8601, if the mail has a valid date. */
  readonly date?: string
  /** At most 20,000 characters. */
  readonly text: string
  readonly attachments: readonly MailAttachment[]
  readonly raw: Uint8Array
}

/** Largest mail that is accepted, in bytes. */
export const maxMailBytes: number = 25 * 1024 * 1024
const maxText = 20_000
const maxAttachmentText = 8_000

/**
 * Parses one mail.
 *
 * @throws DeskError of kind `mail` when the bytes are not a mail, or only its beginning: acting on half a mail is worse
 * than not acting.
 */
export async function parseMail(name: string, raw: Uint8Array): Promise<Mail> {
  if (raw.byteLength > maxMailBytes)
    throw broken(`it has ${Math.ceil(raw.byteLength / 1048576)} MB, the desk reads up to ${maxMailBytes / 1048576} MB`)
  if (!raw.some((byte) => byte > 0x20)) throw broken('the file is empty')

  const email = await parse(raw)
  const from = mailbox(email.from)
  if (!from) throw broken('it has no From address: the headers are missing or damaged')
  const boundary = boundaryOf(email)
  if (boundary !== undefined && !Buffer.from(raw).includes(`--${boundary}--`))
    throw broken('it is truncated: the end of its last part is missing')

  const replyTo = mailbox(email.replyTo?.[0])?.address
  return {
    name,
    key: email.messageId?.trim() || createHash('sha256').update(raw).digest('hex'),
    from: from.address,
    fromName: from.name,
    ...(replyTo !== undefined && replyTo !== from.address && { replyTo }),
    subject: email.subject?.trim() ?? '',
    ...(email.date !== undefined && { date: email.date }),
    text: cut(bodyOf(email), maxText),
    attachments: await Promise.all(email.attachments.map(attachmentOf)),
    raw,
  }
}

async function parse(raw: Uint8Array): Promise<Email> {
  try {
    return await PostalMime.parse(raw, { maxNestingDepth: 32, maxHeadersSize: 256 * 1024, maxRfc822NestingDepth: 4 })
  } catch (cause) {
    throw broken(reasonOf(cause), cause)
  }
}

function broken(reason: string, cause?: unknown): DeskError {
  return new DeskError('mail', `Not a readable mail: ${reason}.`, { cause })
}

function mailbox(address: Address | undefined): { readonly name: string; readonly address: string } | undefined {
  const one = address?.group ? address.group[0] : address
  return one?.address?.includes('@') ? { name: one.name, address: one.address } : undefined
}

function boundaryOf(email: Email): string | undefined {
  const type = email.headers.find((header) => header.key === 'content-type')?.value ?? ''
  if (!/^\s*multipart\//i.test(type)) return undefined
  const match = /;\s*boundary\s*=\s*(?:"([^"]+)"|([^\s;"]+))/i.exec(type)
  return match?.[1] ?? match?.[2]
}

function bodyOf(email: Email): string {
  const text = email.text?.trim()
  if (text) return text
  return email.html ? textOfHtml(email.html) : ''
}

async function attachmentOf(part: Attachment, index: number): Promise<MailAttachment> {
  const bytes = typeof part.content === 'string' ? Buffer.from(part.content) : new Uint8Array(part.content)
  const text = await textOfAttachment(part.mimeType, bytes)
  return {
    name: part.filename ?? `part-${index + 1}`,
    type: part.mimeType,
    bytes: bytes.byteLength,
    ...(text !== undefined && { text: cut(text, maxAttachmentText) }),
  }
}

async function textOfAttachment(type: string, bytes: Uint8Array): Promise<string | undefined> {
  if (type === 'message/rfc822') {
    const inner = await parse(bytes)
    return `From: ${mailbox(inner.from)?.address ?? ''}\nSubject: ${inner.subject ?? ''}\n\n${bodyOf(inner)}`
  }
  if (type === 'text/html') return textOfHtml(decode(bytes))
  if (/^text\/|^application\/(json|xml|csv)$/.test(type)) return decode(bytes).trim()
  return undefined
}

/** Decodes an attachment, whose charset the parser drops: UTF-8 if valid, otherwise the encoding of old programs. */
function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return new TextDecoder('windows-1252').decode(bytes)
  }
}

function cut(text: string, limit: number): string {
  return text.length <= limit ? text : `${text.slice(0, limit)}\n[cut: ${text.length - limit} more characters]`
}
