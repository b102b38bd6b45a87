import type { Json, QuestionWarning } from '@provost/core'
import { displayText, escapePointer, hasHidden, isRecord } from '@provost/core'

import type { Address } from './address.ts'
import { addressesIn, addressKey } from './address.ts'
import { mixedScripts } from './confusable.ts'
import type { KnownAddresses } from './known-addresses.ts'

/** Maximum number of warnings per question. */
const mostWarnings = 20
/** Maximum number of values and characters that are checked per input: a person reads no more either. */
const mostValues = 1_000
const mostText = 100_000
/** Maximum number of addresses per value. */
const mostAddresses = 100

/** Returns what is suspicious about the values of an input, for the approver. Linear in the input, and bounded. */
export function warningsOf(input: Json, known: KnownAddresses): readonly QuestionWarning[] {
  const warnings: QuestionWarning[] = []
  let values = 0
  let text = 0
  let isCut = false

  function look(path: string, value: string): void {
    if (warnings.length >= mostWarnings) return
    if (values >= mostValues || text >= mostText) return void (isCut = true)
    values++
    if (text + value.length > mostText) isCut = true
    const part = value.slice(0, mostText - text)
    text += part.length
    const at = (kind: QuestionWarning['kind'], message: string): void => {
      const isKnown = warnings.some((one) => one.path === pointer && one.text === message)
      if (warnings.length < mostWarnings && !isKnown) warnings.push({ path: pointer, kind, text: message })
    }
    const pointer: QuestionWarning['path'] = `/${path.slice(1)}`
    if (hasHidden(part)) at('hidden-characters', `holds characters that are not visible: ${shown(part)}`)
    for (const address of addressesIn(part, mostAddresses)) warnOf(address, known, at)
  }

  function walk(path: string, value: unknown): void {
    if (typeof value === 'string') look(path, value)
    else if (Array.isArray(value)) for (const [index, item] of value.entries()) walk(`${path}/${index}`, item)
    else if (isRecord(value)) {
      for (const [key, item] of Object.entries(value)) {
        const below = `${path}/${escapePointer(key)}`
        if (hasHidden(key)) look(below, key)
        walk(below, item)
      }
    }
  }

  walk('', input)
  if (isCut) warnings.push({ path: '/', kind: 'not-checked', text: 'is too large to be checked completely' })
  return warnings
}

function warnOf(
  address: Address,
  known: KnownAddresses,
  at: (kind: QuestionWarning['kind'], text: string) => void,
): void {
  const { host, local, coded, userinfo, written } = address
  if (coded) at('punycode', `has the host ${shown(written)}, which is ${shown(host)}`)
  if (userinfo !== undefined) at('userinfo', `leads to the host ${shown(host)}, not to ${shown(userinfo)}`)
  for (const word of [...host.split('.'), ...(local === undefined ? [] : [local])]) {
    const mixed = mixedScripts(word)
    if (mixed) at('mixed-scripts', `mixes ${mixed.join(' and ')} letters in ${shown(word)}: ${spelt(word)}`)
  }
  const like = known.like(address)
  if (like !== undefined)
    at('lookalike', `${shown(addressKey(address))} looks like ${shown(like)} and is another address`)
}

function shown(text: string): string {
  return `"${displayText(text, { limit: 200 })}"`
}

/** Writes letters outside of ASCII as code points: on screen they look like others. */
function spelt(word: string): string {
  return word
    .slice(0, 200)
    .replaceAll(/[^\x20-\x7e]/gu, (letter) => `\\u{${(letter.codePointAt(0) ?? 0).toString(16)}}`)
}
