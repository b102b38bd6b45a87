import { isRecord } from '@provost/core'

import { canonicalBytes } from '../text/canonical-text.ts'
import { encodedTextsIn } from '../text/encoded-text.ts'
import { withoutEscapes } from '../text/plain-form.ts'

const shortestValue = 6
const longestText = 65_536

/** The values that a call or a text acts on. */
export interface CallEffect {
  readonly values: readonly string[]
  /** Whether the whole input was read. */
  readonly whole: boolean
}

/** Returns what a call acts on, in canonical spelling: short values, and addresses, hosts and numbers in longer ones. */
export function effectOf(args: unknown): CallEffect {
  const found = new Set<string>()
  const short: string[] = []
  const open: unknown[] = [args]
  let left = longestText
  let whole = true
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (left <= 0) return { values: [...noteSplit(short, found)], whole: false }
    if (typeof value === 'string' || typeof value === 'number') {
      const all = String(value)
      const text = all.slice(0, left).normalize('NFKC')
      whole &&= all.length <= left
      left -= all.length
      if (text === '') continue
      noteText(text, found)
      if (text.length <= longestPart) short.push(text)
    } else if (Array.isArray(value) || isRecord(value)) {
      // Count empty containers too. `undefined` would end the loop, so push an empty text instead.
      left--
      for (const item of Array.isArray(value) ? value : Object.values(value)) open.push(item ?? '')
      // A map keyed by address has its addresses in its keys.
      for (const key of Array.isArray(value) ? [] : Object.keys(value)) {
        left -= key.length
        noteAddresses(key.slice(0, longestText).normalize('NFKC'), found)
      }
    }
  }
  return { values: [...noteSplit(short, found)], whole }
}

const longestPart = 100

/** Notes a text as written, and in its decoded form. */
function noteText(text: string, found: Set<string>): void {
  noteWritten(text, found)
  if (text.length < shortestValue * 2) return
  const undone = withoutEscapes(text)?.text
  if (undone !== undefined) noteWritten(undone.normalize('NFKC'), found)
  for (const { decoded } of encodedTextsIn(text)) noteWritten(decoded.normalize('NFKC'), found)
}

function noteWritten(text: string, found: Set<string>): void {
  if (text.length <= longestPart) note(text, found)
  noteAddresses(text, found)
}

/** Notes values that are split over two neighbouring arguments, in either order. */
function noteSplit(parts: readonly string[], found: Set<string>): ReadonlySet<string> {
  for (const [n, part] of parts.entries()) {
    const next = parts[n + 1]
    if (next === undefined || part.length + next.length > longestPart) continue
    note(part + next, found)
    note(next + part, found)
  }
  return found
}

/** Matches an address, a host, or enough digits for a telephone or account number. */
const addressLike = new RegExp(String.raw`@|://|\w\.\w|(?:\d\D*){${shortestValue}}`)

function noteAddresses(text: string, found: Set<string>): void {
  for (const token of text.split(/[\s<>"'(),;|`=?&{}[\]]+/)) {
    if (addressLike.test(token)) noteAddress(token, found)
  }
}

function noteAddress(written: string, found: Set<string>): void {
  // A plus tag leads to the same mailbox.
  const token = written.replace(/^(?:mailto|tel|sms|sip):/i, '').replace(/\+[^@+]*@/, '@')
  note(token, found)
  const [, host] = /^[a-z][\w+.-]*:\/\/(?:[^/?#@]*@)?([^/?#:]+)/i.exec(token) ?? []
  if (host !== undefined) note(host, found)
}

function note(text: string, found: Set<string>): void {
  const bytes = canonicalBytes(text.toLowerCase())
  if (bytes.length >= shortestValue) found.add(String.fromCharCode(...bytes))
}
