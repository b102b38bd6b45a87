import type { ToolInfo } from '@provost/core'
import { isRecord } from '@provost/core'

import { keyWords } from '../provenance/argument-role.ts'
import type { TracedValue } from '../provenance/data-flow-rule.ts'
import { isForeign } from '../provenance/definition.ts'
import type { Knowledge } from '../provenance/origin.ts'
import { holds, looseForm } from '../wording/exact-form.ts'

/** Words in the names of arguments that take a one-time code. */
const codeNames = new Set('otp code pin tan passcode verification confirmation challenge mfa totp onetime'.split(' '))
/** Speaks of a one-time code, in the languages of the lexicon. */
const speaksOfCode =
  /\b(?:otp|one[- ]time|passcode|(?:verification|confirmation|security|login|access) (?:code|password|pin)|verif(?:y|ication)|tan|einmal\w*|bestätigungscode|código|codigo)\b|验证码|校验码|رمز/u
/** A code has a digit, and is short. */
const looksLikeCode = /^(?=.*\d)[a-z\d](?:[a-z\d -]{2,10})[a-z\d]$/iu

/**
 * Returns whether a value is a one-time code that goes back to the service that issued it: a trusted result of one of its
 * tools announced a code, a text brings this one with such words, and the tool that receives it does not send it outside.
 * A wrong code does nothing, so it does not matter who wrote the text.
 *
 * Local tools are one service; those of a remote server are another.
 */
export function isIssuedCode(tool: ToolInfo, { origin, path, value }: TracedValue, known: Knowledge): boolean {
  if (origin.kind !== 'prose' || tool.effect !== 'write' || !looksLikeCode.test(value)) return false
  const name = path.split('/').findLast((step) => !/^\d+$/.test(step)) ?? ''
  if (!keyWords(name).some((word) => codeNames.has(word))) return false
  const form = looseForm(value)
  const brings = origin.sources.some(({ text }) =>
    text.split('\n').some((line) => holds(line, form) && speaksOfCode.test(line)),
  )
  return brings && isAnnounced(tool, known)
}

/** Trusted results that are searched, from the last one. */
const mostSearched = 64

/** Returns whether a trusted result of a call that wrote announced a code. */
function isAnnounced({ set }: ToolInfo, { provenance, tools }: Knowledge): boolean {
  return provenance.trusted.sources.slice(-mostSearched).some(({ call, text }) => {
    const issuer = call && tools.get(call.toolName)
    return issuer !== undefined && issuer.set === set && writes(issuer) && speaksOfCode.test(text)
  })
}

function writes({ effect }: ToolInfo): boolean {
  return effect === 'write' || effect === 'egress'
}

/** Speaks of something that is sent to the user. */
const speaksOfDelivery =
  /\b(?:sent|emailed|mailed|delivered)\b.{0,80}\b(?:inbox|e-?mail|mailbox|phone)\b|\b(?:gesendet|geschickt)\b|\benviad[oa]\b|已发送|أرسل/u

/**
 * Returns whether a value is the key of something that a tool of the service issued: a trusted result announced a delivery,
 * and the record with the key names what that call was about, such as the number of the order.
 */
export function isIssuedItem(tool: ToolInfo, { origin }: TracedValue, { provenance, tools }: Knowledge): boolean {
  if ((origin.kind !== 'value' && origin.kind !== 'field') || tool.effect !== 'write') return false
  const subjects = provenance.trusted.sources.slice(-mostSearched).flatMap(({ call, text }) => {
    const issuer = call && tools.get(call.toolName)
    if (!issuer || issuer.set !== tool.set || !speaksOfDelivery.test(text) || !isRecord(call.input)) return []
    return Object.values(call.input).flatMap((one) =>
      typeof one === 'string' && isSubject(one) ? [looseForm(one)] : [],
    )
  })
  const forms = [...new Set(subjects)]
  return origin.leaves.some(({ record }) =>
    record.some(({ value }) => value.length <= longestRecord && forms.some((form) => holds(value, form))),
  )
}

/** Characters of a record's value in which a subject is looked for. */
const longestRecord = 300

/** A key that is hard to guess. */
function isSubject(value: string): boolean {
  return value.length >= 6 && value.length <= 64 && /\d{3}/.test(value)
}

/**
 * Returns whether a call continues one that had something issued: it returns the one-time code, or fetches what was
 * delivered.
 */
export function continuesCall(tool: ToolInfo, values: readonly TracedValue[], known: Knowledge): boolean {
  const isOurs = ({ origin }: TracedValue): boolean => origin.kind === 'own' || origin.kind === 'trusted'
  const isCode = (one: TracedValue): boolean => isIssuedCode(tool, one, known)
  if (values.some(isCode)) return values.every((one) => isOurs(one) || isCode(one))
  if (!onlyFetches(tool)) return false
  const isItem = (one: TracedValue): boolean => one.role === 'selector' && isIssuedItem(tool, one, known)
  // Where to it is fetched, and under which name, is the agent's to choose: it stays with the user.
  const isPlace = ({ role, origin }: TracedValue): boolean =>
    role === 'content' || (role === 'selector' && origin.kind === 'nowhere')
  return values.some(isItem) && values.every((one) => isOurs(one) || isItem(one) || isPlace(one))
}

/** First words of the names of tools that bring something: to do so again changes nothing. */
const fetching: ReadonlySet<string> = new Set(['get', 'read', 'download', 'fetch', 'open', 'list', 'search', 'view'])

/** Returns whether a tool only brings something, by its name. That of a remote tool says nothing: its server chose it. */
export function onlyFetches(tool: ToolInfo): boolean {
  return !isForeign(tool) && fetching.has(keyWords(tool.name)[0] ?? '')
}
