import type { ArgRole, Steps } from '@provost/core'
import { finish } from '@provost/core'

import { brief, differenceOf, evidenceOf, shown } from '../evidence/decision-evidence.ts'
import { isBankAccount } from '../provenance/argument-role.ts'
import type { DataFlowRule, RuleAnswer, Sink, TracedValue } from '../provenance/data-flow-rule.ts'
import { isSuggested } from '../provenance/definition.ts'
import { isIdentityData, isOfReachedRecord } from '../provenance/lookup.ts'
import {
  isDesignated,
  isFetched,
  isKeyOfCall,
  isNamed,
  isOwn,
  isRecordNamed,
  isRecordTold,
  isTitleSaid,
  isMentionedBySource,
  namesOthers,
  originSteps,
} from '../provenance/origin.ts'
import type { Origin } from '../provenance/origin.ts'
import { secretArgument } from '../provenance/secret-argument.ts'
import { encodedTextSteps } from '../text/encoded-text.ts'
import { longText } from '../text/long-text.ts'
import { plainForm, withoutEscapes } from '../text/plain-form.ts'
import { hostOf, isHandle, isUrl, urlsIn } from '../wording/address.ts'
import { exactForm, exactFormSteps, holds, looseForm, wordsOf } from '../wording/exact-form.ts'
import { isAboutPages } from './intent-match.ts'
import { isIssuedCode, isIssuedItem } from './issued-value.ts'

/** Roles of arguments that decide the destination, the account and the subject of a call. */
const steering: ReadonlySet<ArgRole> = new Set<ArgRole>(['destination', 'credential', 'selector', 'attachment'])

/** Characters of a rewritten span that turn an approval request into a denial. */
const longEvidence = 32

/** Restricts secret data, and data whose label names its readers, to destinations whose readers are cleared for it. */
export const confidentiality: DataFlowRule = (sink) => {
  const { label, tool } = sink.call
  const isSecret = label.confidentiality === 'secret' && tool.effect === 'egress'
  const hasReaders = label.confidentiality !== 'public' && label.readers !== undefined
  if (!isSecret && !hasReaders) return undefined
  // The account that a write pays to receives money, not data.
  const isReader = ({ role, value }: TracedValue): boolean =>
    role === 'destination' && !(tool.effect === 'write' && isBankAccount(value))
  const destinations = sink.values.filter(isReader)
  const closed = destinations.filter(({ value }) => !mayRead(sink, value))
  if (destinations.length > 0 && closed.length === 0) return undefined
  // A write without a destination stays where its readers are.
  if (destinations.length === 0 && tool.effect === 'write') return undefined
  const evidence = {
    sources: label.sources,
    destinations: closed.map((one) => ({ path: one.path, ...shown(one) })),
  }
  // The user named no such destination, and it lacks clearance: deny without an approval request.
  const foreign = closed.find(({ origin }) => origin.kind === 'prose' || origin.kind === 'value')
  if (foreign)
    return { deny: 'Confidential data may not go there. Leave it out, or use a destination of the user.', evidence }
  return {
    ask: {
      reason: `${sink.call.tool.name} would send ${label.confidentiality} data to a reader without clearance`,
      evidence,
    },
  }
}

function mayRead({ call, readers }: Sink, destination: string): boolean {
  const cleared = (call.label.readers ?? []).map(exactForm)
  return readers(destination).some((reader) => cleared.includes(exactForm(reader)))
}

/** Judges web addresses that the model assembled: such an address can leak data to the owner of its host. */
const composedAddress: DataFlowRule = (sink, ctx) =>
  isTainted(sink) ? ctx.inTurns(composedAddressSteps(sink)) : undefined

function* composedAddressSteps(sink: Sink): Steps<RuleAnswer | undefined> {
  for (const one of sink.values) {
    if (one.role !== 'destination' || one.origin.kind !== 'nowhere' || !isUrl(one.value)) continue
    const evidence = evidenceOf(sink, one)
    const host = hostOf(one.value)
    const hostOrigin = host !== '' && (yield* originSteps(host, sink.call.tool, sink.known))
    if (
      hostOrigin &&
      (hostOrigin.kind === 'own' || hostOrigin.kind === 'trusted') &&
      !(yield* carriesData(sink, one))
    ) {
      return { ask: { reason: `${sink.call.tool.name} would open an address that the model assembled`, evidence } }
    }
    return { deny: 'The model assembled this address from data it read. Use an address from the user.', evidence }
  }
  return undefined
}

/** Parts of an address that are searched for data, beside its path and its query. */
interface Searched {
  /** The names in the host: a subdomain reaches the owner of the domain. */
  readonly host: boolean
  /** Keys of records: an address on a host of the user may name one. */
  readonly keys: boolean
}

/** Returns whether an address contains data that the model read. */
export function* carriesData(
  sink: Sink,
  { path, value }: TracedValue,
  { host, keys }: Searched = { host: false, keys: true },
): Steps<boolean> {
  const isPlain = (view: string): boolean => view === 'verbatim' || view === 'normalised'
  if (sink.hits.some((hit) => hit.path === path && (keys || !isPlain(hit.view)))) return true
  const address = decoded(decoded(value)).replace(/^[a-z][a-z\d+.-]*:\/{0,2}/i, '')
  const searched = host
    ? address.replace(/^[^/?#]*/, (name) => name.replaceAll(/[.@:]/g, '/'))
    : address.replace(/^[^/?#]*/, '')
  const all = searched.split(/[/?#&=+]+/)
  // Data in pieces.
  if (host && all.filter((part) => part.length < 4).join('').length > 12) return true
  const parts = all.filter((part) => part.length >= 4)
  for (const part of parts) {
    if (isOwn(exactForm(part), sink.known)) continue
    if (!keys && part.length <= 64 && /^(?=.*\d)[\w-]+$/.test(part)) continue
    const { kind } = yield* originSteps(part, sink.call.tool, sink.known)
    if (kind !== 'own' && (kind !== 'nowhere' || part.length > 24)) return true
  }
  return false
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/**
 * Judges calls that carry only an address. The user must have written the address. Otherwise a source that the user
 * pointed at contains it whole, was not itself fetched, and the user's words are about pages or about this address.
 */
const fetchedAddress: DataFlowRule = (sink) => {
  if (!isTainted(sink) || !isFetch(sink)) return undefined
  const open = sink.values.filter(({ role, origin }) => role === 'destination' && !isVouchedFor(origin))
  for (const one of open) {
    const { origin } = one
    const places =
      origin.kind === 'prose' ? origin.sources : 'leaves' in origin ? origin.leaves.map(({ source }) => source) : []
    const meant =
      speaksOfPages(one.value, sink) &&
      places.some((source) => isDesignated(source, sink.known) && !isFetched(source, sink.known))
    // A planted address stays suspect even if other sources contain it too.
    if (!meant) {
      return {
        ask: {
          reason: `${sink.call.tool.name} would open ${shown(one).value ?? `the address in ${one.path}`}, which the user did not refer to`,
          evidence: evidenceOf(sink, one),
        },
      }
    }
  }
  return { allow: true }
}

/**
 * Returns whether the user's words are about pages, or contain a word of this address that does not name a source.
 * Depends on the language of the request.
 */
function speaksOfPages(address: string, { known, turn }: Sink): boolean {
  if (isAboutPages({ messages: turn })) return true
  return wordsOf(address).some(
    (word) => word.length >= 5 && known.userTexts.some((text) => holds(text, word)) && !isKeyOfCall(word, known),
  )
}

/** Returns whether a call only reads an address. */
export function isFetch({ values }: Pick<Sink, 'values'>): boolean {
  let urls = 0
  for (const { role, value } of values) {
    if (role === 'destination' && isUrl(value)) urls++
    else if (role !== 'flag' && role !== 'time' && !(role === 'amount' && /^\d{1,9}$/.test(value))) return false
  }
  return urls > 0
}

/** Requires destinations, credentials, selectors and attachments to come from the user, trusted text or a system. */
const argumentOrigin: DataFlowRule = (sink, ctx) =>
  isTainted(sink) ? ctx.inTurns(argumentOriginSteps(sink)) : undefined

function* argumentOriginSteps(sink: Sink): Steps<RuleAnswer | undefined> {
  let worst: TracedValue | undefined
  let looked = 0
  for (const one of sink.values) {
    if (++looked % pauseEvery === 0) yield
    if (!steering.has(one.role) || isMeant(sink, one)) continue
    if (!worst || severity(one.origin) > severity(worst.origin)) worst = one
  }
  return worst && verdictOn(sink, worst)
}

/** Values judged between two pauses: the cost of each depends on the amount of data read. */
const pauseEvery = 4

function severity({ kind }: Origin): number {
  return kind === 'prose' ? 2 : kind === 'nowhere' ? 1 : 0
}

function verdictOn(sink: Sink, one: TracedValue): RuleAnswer {
  const evidence = evidenceOf(sink, one)
  const { name } = sink.call.tool
  const long = sink.hits.some(
    ({ path, length, view }) =>
      path === one.path && length >= longEvidence && view !== 'verbatim' && view !== 'normalised',
  )
  // A requested call may need a value from a text, which a human can confirm. An unrequested call is denied.
  if ((one.origin.kind === 'prose' && sink.implied === 'no') || long) {
    return {
      deny: `The ${one.role} of this call is not from the user. Ask the user for it, or continue without the call.`,
      evidence,
    }
  }
  const origin = words[one.origin.kind](shown(one).value ?? `the value of ${one.path}`)
  const unknown = one.guessed ? `, and the tool declares no role for ${one.path}` : ''
  return { ask: { reason: `${name}: ${origin}${unknown}`, evidence } }
}

const words: Readonly<Record<Origin['kind'], (value: string) => string>> = {
  own: (value) => `“${value}” is the user's`,
  trusted: (value) => `a text by a third party mentions “${value}”`,
  field: (value) => `“${value}” is in a record that the user did not name`,
  value: (value) => `the author of a text that the agent read chose “${value}”`,
  prose: (value) => `“${value}” comes from a text by a third party`,
  nowhere: (value) => `“${value}” has no source that the user can vouch for`,
}

/** Returns whether the user plausibly means a value. */
function isMeant(sink: Sink, one: TracedValue): boolean {
  const { origin, role, value } = one
  const { known } = sink
  if (origin.kind === 'own') return true
  // A human who has approved a record for one call of the run means it in the next one, too.
  if (role === 'selector' && sink.implied === 'asked' && known.provenance.approvedNow.has(exactForm(value))) return true
  if (origin.kind === 'trusted') {
    // A text that names a value out of trusted data has chosen it.
    const isFree = known.provenance.chosen.has(looseForm(value))
    const chosen = role !== 'credential' && value.length >= 4 && !isFree && isMentionedBySource(value, known)
    return !chosen && (sink.implied !== 'delegated' || !isDictated(sink, one))
  }
  if (role === 'selector' && sink.implied === 'asked' && isIssuedItem(sink.call.tool, one, known)) return true
  // Outsiders do not choose row numbers and similar keys. They can choose the recipient of money or mail.
  if (origin.kind === 'field') {
    if (role === 'selector' || role === 'attachment') {
      if (sink.implied === 'delegated' && isDictated(sink, one)) return false
      // A text can still steer the choice of a row, but only if it mentions the row.
      return origin.leaves.some((leaf) => !isRecordTold(leaf, value, known))
    }
    return role === 'destination' && origin.leaves.some((leaf) => agreesWith(sink, isRecordNamed(leaf, known)))
  }
  if (role === 'credential' && isIssuedCode(sink.call.tool, one, known)) return true
  if (role === 'credential' && sink.implied === 'asked' && isIdentityData(sink.call.tool, one, sink.values, known))
    return true
  if (role === 'credential' || role === 'attachment') return false
  // No outsider wrote a value without a source; as a selector it can only select the user's own data.
  if (origin.kind === 'nowhere')
    return role === 'selector' && sink.implied === 'asked' && !isUrl(value) && value.length <= 200
  if (sink.implied !== 'asked') return false
  if (origin.kind === 'value') {
    // A plain name refers to a person in the tool's own directory, unless the user named other people.
    // A payment goes to any account of that name, so a plain name is not enough.
    const pays = sink.values.some((other) => other.role === 'amount')
    // `All participants of the event` names the people of a record by its title.
    const isRelated = sink.contract?.contract.relations === true && role === 'destination'
    if (isRelated && !pays && origin.leaves.some((leaf) => isTitleSaid(leaf, known))) return true
    if (role === 'selector' && isOfReachedRecord(sink.call.tool, one, known)) return true
    if (isHandle(value) && !pays) return isNamed(value, known) || !namesOthers(origin.leaves, known)
    return value.includes('@') && isNamed(value, known)
  }
  if (origin.kind !== 'prose') return false
  // An address of a person that the user named, from a source that the user pointed at.
  return value.includes('@') && isNamed(value, known) && origin.sources.some((source) => isDesignated(source, known))
}

/** Returns whether a record that the user named by its amount is used with that amount. */
function agreesWith({ values, known }: Sink, anchors: readonly string[]): boolean {
  const amounts = values.filter(({ role }) => role === 'amount')
  if (anchors.length === 0 || amounts.length === 0) return false
  return amounts.every(
    ({ value }) => isOwn(exactForm(value), known) || anchors.some((one) => Number(one) === Number(value)),
  )
}

/** Returns whether a text that the user asked to follow names the value: then its author chose it. */
function isDictated({ known }: Sink, { role, value }: TracedValue): boolean {
  if (isOwn(exactForm(value), known)) return false
  if (role !== 'selector' && role !== 'destination' && role !== 'attachment') return false
  const form = looseForm(value)
  return known.provenance.untrusted.sources.some((source) => isDesignated(source, known) && holds(source.text, form))
}

/** Judges links and encoded text in outgoing content: a recipient takes both as the user's own. */
const disguisedContent: DataFlowRule = (sink, ctx) =>
  isTainted(sink) && sink.call.tool.effect === 'egress' ? ctx.inTurns(disguisedContentSteps(sink)) : undefined

function* disguisedContentSteps(sink: Sink): Steps<RuleAnswer | undefined> {
  for (const one of sink.values) {
    if (one.role !== 'content') continue
    const hidden = yield* firstHidden(one.value, sink)
    const veiled = sink.hits.find(({ path, view }) => path === one.path && disguises.has(view))
    if (hidden || veiled) {
      return {
        ask: { reason: `${sink.call.tool.name} would send encoded text`, evidence: evidenceOf(sink, one) },
      }
    }
    if (one.value.length > longText) yield
    let looked = 0
    for (const address of linksIn(one.value)) {
      if (++looked % pauseEvery === 0) yield
      const origin = yield* originSteps(address, sink.call.tool, sink.known)
      if (isVouchedFor(origin)) continue
      const sources =
        origin.kind === 'prose' ? origin.sources : 'leaves' in origin ? origin.leaves.map(({ source }) => source) : []
      const meant = sources.some((source) => isDesignated(source, sink.known) && !isFetched(source, sink.known))
      if (meant && speaksOfPages(address, sink)) continue
      const link = { ...one, value: address, origin }
      return {
        ask: {
          reason: `${sink.call.tool.name} would forward the link ${brief(address)}, which a third party wrote`,
          evidence: evidenceOf(sink, link),
        },
      }
    }
  }
  return undefined
}

/** Returns whether a text has encoded parts that the user did not write. */
function* firstHidden(text: string, sink: Sink): Steps<boolean> {
  let looked = 0
  for (const { encoded } of yield* encodedTextSteps(text)) {
    if (!isOwn(yield* exactFormSteps(encoded), sink.known)) return true
    if ((looked += encoded.length) < longText) continue
    looked = 0
    yield
  }
  return false
}

/** Returns the links of a text, including those that appear once escapes are decoded and invisible characters removed. */
function linksIn(text: string): ReadonlySet<string> {
  const plain = plainForm(text)
  return new Set([...urlsIn(text), ...urlsIn(plain), ...urlsIn(withoutEscapes(plain)?.text ?? '')])
}

const disguises: ReadonlySet<string> = new Set(['base64', 'base64url', 'hex', 'reversed', 'rot13'])

/** Requires that the user's words imply the tool. Depends on the language of the request. */
export const impliedTool: DataFlowRule = named('intent', (sink) => {
  if (!isTainted(sink) || sink.implied === 'asked' || sink.implied === 'delegated') return undefined
  const { tool, label } = sink.call
  const reason =
    sink.implied === 'no'
      ? `the user's words do not ask for ${tool.name}, and the agent has read untrusted content`
      : `the user's words do not show whether they ask for ${tool.name}`
  const differs = sink.contract && differenceOf(sink, { differs: 'no clause of the request asks for this call' })
  return { ask: { reason, evidence: { sources: label.sources, ...differs } } }
})

/** Returns whether the user or a trusted text gave a value. */
export function isVouchedFor({ kind }: Origin): boolean {
  return kind === 'own' || kind === 'trusted'
}

const tainted = new WeakMap<Sink, boolean>()

/**
 * Returns whether an outsider may have caused a call. Before untrusted content is read, only the author of a remote
 * tool's definition can: the call goes to an address, or forwards a link, that the definition mentions.
 */
export function isTainted(sink: Sink): boolean {
  if (sink.call.label.integrity === 'untrusted') return true
  let found = tainted.get(sink)
  if (found === undefined) tainted.set(sink, (found = isSuggestedByTool(sink)))
  return found
}

/** Characters of the longest value that is traced without a pause. */
const mostTraced = 2_000

function isSuggestedByTool({ call, values, known }: Sink): boolean {
  const { definitions } = known
  if (definitions.tools.length === 0) return false
  const isSuggestedValue = (value: string): boolean => {
    if (!isSuggested(value, definitions)) return false
    // Tracing a longer value would block the process, so it counts as suggested.
    return value.length > mostTraced || !isVouchedFor(finish(originSteps(value, call.tool, known)))
  }
  return values.some(({ role, value }) => {
    if (role === 'destination') return isSuggestedValue(value)
    return role === 'content' && call.tool.effect === 'egress' && [...linksIn(value)].some(isSuggestedValue)
  })
}

/** The default rules, in order: rules that deny come before rules that ask. */
export const intentPreset: readonly DataFlowRule[] = Object.freeze([
  named('secret-argument', secretArgument),
  named('confidentiality', confidentiality),
  named('composed-address', composedAddress),
  named('fetched-address', fetchedAddress),
  named('argument-origin', argumentOrigin),
  named('disguised-content', disguisedContent),
  impliedTool,
])

/** Returns a rule with the name that the audit records. */
export function named(name: string, rule: DataFlowRule): DataFlowRule {
  const renamed: DataFlowRule = (sink, ctx) => rule(sink, ctx)
  return Object.defineProperty(renamed, 'name', { value: name })
}
