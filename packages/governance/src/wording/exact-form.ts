import type { Steps } from '@provost/core'

import { compatible } from '../text/compatible-form.ts'
import { longText } from '../text/long-text.ts'

/** Characters that are not seen: they split words for a machine and not for a reader. */
const ignorable = /[\p{Default_Ignorable_Code_Point}\p{Cc}]/gu

/** Returns the form for comparison with trusted text: it ignores case and white space only. */
export function exactForm(text: string): string {
  return (text.length > longText ? exactForms.get(text) : undefined) ?? exactly(text).trim()
}

/** Returns the form for comparison with untrusted text: it treats lookalikes as equal. */
export function looseForm(text: string): string {
  return (text.length > longText ? looseForms.get(text) : undefined) ?? loosely(text).trim()
}

function exactly(text: string): string {
  return text.normalize('NFC').toLowerCase().replaceAll(/\s+/gu, ' ')
}

function loosely(text: string): string {
  return exactly(compatible(text).replaceAll(ignorable, (char) => (/\s/u.test(char) ? ' ' : '')))
}

/** Cached forms of the long texts of one call: computed in steps, then reused by the rules. */
const exactForms = new Map<string, string>()
const looseForms = new Map<string, string>()
const mostForms = 16

function keepForm(forms: Map<string, string>, text: string, form: string): void {
  forms.delete(text)
  forms.set(text, form)
  for (const first of forms.keys()) {
    if (forms.size <= mostForms) break
    forms.delete(first)
  }
}

/** Clears the cached forms of long texts, once a call is judged. */
export function forgetForms(): void {
  exactForms.clear()
  looseForms.clear()
}

/** {@link exactForm} in steps. It is known to {@link exactForm} afterwards. */
export function exactFormSteps(text: string): Steps<string> {
  return formSteps(text, exactly, exactForms)
}

/** {@link looseForm} in steps. It is known to {@link looseForm} afterwards. */
export function looseFormSteps(text: string): Steps<string> {
  return formSteps(text, loosely, looseForms)
}

function* formSteps(text: string, form: (slice: string) => string, forms: Map<string, string>): Steps<string> {
  if (text.length <= longText) return form(text).trim()
  const known = forms.get(text)
  if (known !== undefined) return known
  const parts: string[] = []
  let spaced = true
  for (let start = 0, end = 0; start < text.length; start = end) {
    end = sliceEnd(text, start)
    const part = form(text.slice(start, end))
    // White space on both sides of a cut is one space.
    parts.push(spaced && part.startsWith(' ') ? part.slice(1) : part)
    if (part !== '') spaced = part.endsWith(' ')
    yield
  }
  const whole = parts.join('').trim()
  keepForm(forms, text, whole)
  return whole
}

/**
 * Returns the end of a slice: after nearby white space, and never inside a character or before a combining mark.
 */
function sliceEnd(text: string, start: number): number {
  const last = start + longText
  if (last >= text.length) return text.length
  const space = /\s(?=[^\s\p{M}])/u.exec(text.slice(last, last + 1_024))
  if (space) return last + space.index + 1
  const border = /[^\p{M}\p{Default_Ignorable_Code_Point}\u1100-\u11FF\uD7B0-\uD7FF\uDC00-\uDFFF]/u.exec(
    text.slice(last, last + 1_024),
  )
  return border ? last + border.index : last + 1_024
}

function wordEnd(form: string, from: number): number {
  const border = /[^\p{L}\p{N}]/u.exec(form.slice(from, from + longText))
  return border ? from + border.index : Math.min(form.length, from + longText)
}

/** Returns the words of a text in loose form, without punctuation. */
export function wordsOf(text: string): readonly string[] {
  return looseForm(text).match(word) ?? []
}

const word = /[\p{L}\p{N}]+/gu

/** Returns the words of a text that is in loose form already, in steps. */
export function* distinctWords(form: string): Steps<ReadonlySet<string>> {
  const words = new Set<string>()
  for (let start = 0, end = 0; start < form.length; start = end) {
    end = form.length - start <= longText ? form.length : wordEnd(form, start + longText)
    for (const one of form.slice(start, end).match(word) ?? []) words.add(one)
    if (end < form.length) yield
  }
  return words
}

/** Letters of scripts without spaces between words are word borders themselves. */
const spaced = /[\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}\p{N}_]/u
/** Characters of the longest value that is searched directly. For longer ones the prefix is searched first, in linear time. */
const longValue = 64

/** Returns whether a text contains a value as a whole: `notevil.com` and `evil.com/path` do not contain `evil.com`. Both in the same form. */
export function holds(text: string, value: string): boolean {
  if (value === '' || value.length > text.length) return false
  const isWhole = (at: number): boolean => beginsAt(text, value, at) && endsAt(text, value, at + value.length)
  if (value.length > longValue) return holdsLong(text, value, isWhole)
  for (let at = text.indexOf(value); at >= 0; at = text.indexOf(value, at + 1)) if (isWhole(at)) return true
  return false
}

/** Returns whether a text contains another anywhere, in time proportional to both. */
export function includes(text: string, value: string): boolean {
  if (value.length > text.length) return false
  return value.length > longValue ? holdsLong(text, value, () => true) : text.includes(value)
}

/** Knuth-Morris-Pratt, since the engine's search takes quadratic time for values that repeat themselves. */
function holdsLong(text: string, value: string, isWhole: (at: number) => boolean): boolean {
  const first = text.indexOf(value.slice(0, longValue))
  if (first < 0 || first + value.length > text.length) return false
  const { length } = value
  const back = new Int32Array(length + 1)
  back[0] = -1
  for (let i = 0, k = -1; i < length;) {
    while (k >= 0 && value.charCodeAt(i) !== value.charCodeAt(k)) k = back[k] ?? -1
    back[++i] = ++k
  }
  for (let i = first, k = 0; i < text.length;) {
    while (k >= 0 && text.charCodeAt(i) !== value.charCodeAt(k)) k = back[k] ?? -1
    i++
    if (++k < length) continue
    if (isWhole(i - length)) return true
    k = back[k] ?? 0
  }
  return false
}

function beginsAt(text: string, value: string, at: number): boolean {
  const before = text.at(at - 1)
  if (at === 0 || before === undefined) return true
  if (spaced.test(value[0] ?? '') && spaced.test(before)) return false
  // A prefix makes it a part of an address: `x@evil.com`, `sub.evil.com`. A scheme (`http://evil.com`) does not.
  return !(/[@.+-]/.test(before) && /[\p{L}\p{N}]/u.test(text[at - 2] ?? ''))
}

function endsAt(text: string, value: string, end: number): boolean {
  const after = text[end]
  if (after === undefined) return true
  if (spaced.test(value.at(-1) ?? '') && spaced.test(after)) return false
  if (after === '@') return false
  // A full stop or a dash inside an address is part of it; one at the end of a sentence is not.
  return !(/[./:?#+-]/.test(after) && /[\p{L}\p{N}]/u.test(text[end + 1] ?? ''))
}
