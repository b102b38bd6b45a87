import type { ToolInfo } from '@provost/core'
import { isRecord } from '@provost/core'

import { keyWords } from '../provenance/argument-role.ts'
import type { TracedValue } from '../provenance/data-flow-rule.ts'
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
  if (origin.kind !== 'value' || tool.effect !== 'write') return false
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

/** Returns whether a call only returns a one-time code: it continues the call that had the code issued. */
export function continuesCall(tool: ToolInfo, values: readonly TracedValue[], known: Knowledge): boolean {
  return (
    values.some((one) => isIssuedCode(tool, one, known)) &&
    values.every((one) => one.origin.kind === 'own' || one.origin.kind === 'trusted' || isIssuedCode(tool, one, known))
  )
}
