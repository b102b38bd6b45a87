import type { ArgRole, HookContext, Json, Steps } from '@provost/core'
import { finish } from '@provost/core'

import type { DataFlowRule, RuleAnswer, Sink, TracedValue } from '../provenance/data-flow-rule.ts'
import { isSuggested } from '../provenance/definition.ts'
import {
  isDesignated,
  isFetched,
  isKeyOfCall,
  isNamed,
  isOwn,
  isRecordNamed,
  isRecordTold,
  isToldOf,
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

/** Arguments that decide where data goes, on whose account and about what. */
const steering: ReadonlySet<ArgRole> = new Set<ArgRole>(['destination', 'credential', 'selector', 'attachment'])

/** How long a stretch must be to turn a question into a refusal by itself. */
const longEvidence = 32

/** Secret data goes to those who may read it, and to nobody else. */
export const confidentiality: DataFlowRule = (sink) => {
  const { label } = sink.call
  if (label.confidentiality !== 'secret' || sink.call.tool.effect !== 'egress') return undefined
  const destinations = sink.values.filter(({ role }) => role === 'destination')
  const closed = destinations.filter(({ value }) => !mayRead(sink, value))
  if (destinations.length > 0 && closed.length === 0) return undefined
  const evidence = {
    sources: label.sources,
    destinations: closed.map(({ path, value }) => ({ path, value: brief(value) })),
  }
  // Who was not named by the human and may not read it: nobody needs to be asked.
  const foreign = closed.find(({ origin }) => origin.kind === 'prose' || origin.kind === 'value')
  if (foreign) return { deny: 'Confidential data may not go there.', evidence }
  return {
    ask: { reason: `${sink.call.tool.name} would send secret data to somebody who is not cleared for it`, evidence },
  }
}

function mayRead({ call, readers }: Sink, destination: string): boolean {
  const cleared = (call.label.readers ?? []).map(exactForm)
  return readers(destination).some((reader) => cleared.includes(exactForm(reader)))
}

/** A web address that the model assembled can carry what was read to whoever owns it. */
export const composedAddress: DataFlowRule = (sink, ctx) =>
  isTainted(sink) ? ctx.inTurns(composedAddressSteps(sink)) : undefined

function* composedAddressSteps(sink: Sink): Steps<RuleAnswer | undefined> {
  for (const one of sink.values) {
    if (one.role !== 'destination' || one.origin.kind !== 'nowhere' || !isUrl(one.value)) continue
    const evidence = evidenceOf(sink, one)
    const host = hostOf(one.value)
    const ours = host !== '' && (yield* originSteps(host, sink.call.tool, sink.known))
    if (ours && (ours.kind === 'own' || ours.kind === 'trusted') && !(yield* carriesData(sink, one))) {
      return { ask: { reason: `${sink.call.tool.name} would open an address that nobody wrote`, evidence } }
    }
    return { deny: 'This address was put together from what was read. Use an address that the user gave.', evidence }
  }
  return undefined
}

/** Whether what stands behind the host of an address was read somewhere. */
function* carriesData(sink: Sink, { path, value }: TracedValue): Steps<boolean> {
  if (sink.hits.some((hit) => hit.path === path)) return true
  const behind = decoded(value)
    .replace(/^[a-z][a-z\d+.-]*:\/\//i, '')
    .replace(/^[^/?#]*/, '')
  const parts = behind.split(/[/?#&=+]+/).filter((part) => part.length >= 4)
  for (const part of parts) {
    if (isOwn(exactForm(part), sink.known)) continue
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
 * A call that carries nothing but an address tells its owner only that somebody came. The address must be the human's,
 * or stand as a whole in something the human pointed at that was not itself fetched from an address, where the human
 * spoke of pages or of what the address is about.
 */
export const fetchedAddress: DataFlowRule = (sink, ctx) => {
  if (!isTainted(sink) || !isFetch(sink)) return undefined
  const open = sink.values.filter(({ role, origin }) => role === 'destination' && !isOurs(origin))
  for (const one of open) {
    const { origin } = one
    const places =
      origin.kind === 'prose' ? origin.sources : 'leaves' in origin ? origin.leaves.map(({ source }) => source) : []
    const meant =
      speaksOfPages(one.value, sink, ctx) &&
      places.some((source) => isDesignated(source, sink.known) && !isFetched(source, sink.known))
    // An address that stands where it was planted is not made better by standing elsewhere as well.
    if (!meant) {
      return {
        ask: {
          reason: `${sink.call.tool.name} would open ${brief(one.value)}, which the user did not point at`,
          evidence: evidenceOf(sink, one),
        },
      }
    }
  }
  return { allow: true }
}

/**
 * Whether the human's words are about pages, or about this one: a word of the address stands among them that is not
 * the name of what was read. Depends on the language of the request.
 */
function speaksOfPages(address: string, { known }: Sink, ctx: HookContext): boolean {
  if (isAboutPages(ctx)) return true
  return wordsOf(address).some(
    (word) => word.length >= 5 && known.said.some((text) => holds(text, word)) && !isKeyOfCall(word, known),
  )
}

function isFetch({ values }: Sink): boolean {
  let urls = 0
  for (const { role, value } of values) {
    if (role === 'destination' && isUrl(value)) urls++
    else if (role !== 'flag' && role !== 'time' && !(role === 'amount' && /^\d{1,9}$/.test(value))) return false
  }
  return urls > 0
}

/** Destinations, credentials, selectors and attachments are the human's, trusted, or made by a system. */
export const argumentOrigin: DataFlowRule = (sink, ctx) =>
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

/** Values that are judged without a pause: what each costs depends on what was read. */
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
  // What the human asked for may need a value out of a text: a human can tell. What nobody asked for needs none.
  if ((one.origin.kind === 'prose' && sink.implied === 'no') || long) {
    return {
      deny: `The ${one.role} of this call is not from the user. Ask the user for it, or go on without the call.`,
      evidence,
    }
  }
  return { ask: { reason: `${name}: ${words[one.origin.kind](brief(one.value))}`, evidence } }
}

const words: Readonly<Record<Origin['kind'], (value: string) => string>> = {
  own: (value) => `“${value}” is the user's`,
  trusted: (value) => `a text that somebody else wrote speaks of “${value}”`,
  field: (value) => `“${value}” stands in a record that the user did not name`,
  value: (value) => `“${value}” was chosen by whoever wrote what was read`,
  prose: (value) => `“${value}” stands in a text that somebody else wrote`,
  nowhere: (value) => `“${value}” stands nowhere that the user can vouch for`,
}

/** Whether a value is one that the human can be taken to mean. */
function isMeant(sink: Sink, one: TracedValue): boolean {
  const { origin, role, value } = one
  const { known } = sink
  if (origin.kind === 'own') return true
  if (origin.kind === 'trusted') {
    // What a text tells the assistant to choose out of trusted data is the text's choice.
    const chosen = role !== 'credential' && value.length >= 4 && isToldOf(value, known)
    return !chosen && (sink.implied !== 'delegated' || !isDictated(sink, one))
  }
  // Numbers of rows and the like: outsiders do not choose them. To whom money or mail goes they can.
  if (origin.kind === 'field') {
    if (role === 'selector' || role === 'attachment') {
      if (sink.implied === 'delegated' && isDictated(sink, one)) return false
      // Which row it is can be somebody's wish all the same: who wishes for it has to speak of it.
      return origin.leaves.some((leaf) => !isRecordTold(leaf, value, known))
    }
    return role === 'destination' && origin.leaves.some((leaf) => agreesWith(sink, isRecordNamed(leaf, known)))
  }
  if (role === 'credential' || role === 'attachment') return false
  // What stands nowhere cannot have been written by anybody else; it can point only at what is the user's.
  if (origin.kind === 'nowhere')
    return role === 'selector' && sink.implied === 'asked' && !isUrl(value) && value.length <= 200
  if (sink.implied !== 'asked') return false
  if (origin.kind === 'value') {
    // A plain name means somebody whom the tool knows already. Whoever names others means those.
    // Money goes to anybody of that name.
    const pays = sink.values.some((other) => other.role === 'amount')
    if (isHandle(value) && !pays) return isNamed(value, known) || !namesOthers(origin.leaves, known)
    return value.includes('@') && isNamed(value, known)
  }
  if (origin.kind !== 'prose') return false
  // An address for somebody whom the user named, found where the user said to look.
  return value.includes('@') && isNamed(value, known) && origin.sources.some((source) => isDesignated(source, known))
}

/** A record that is meant by its amount is meant for that amount. */
function agreesWith({ values, known }: Sink, anchors: readonly string[]): boolean {
  const amounts = values.filter(({ role }) => role === 'amount')
  if (anchors.length === 0 || amounts.length === 0) return false
  return amounts.every(
    ({ value }) => isOwn(exactForm(value), known) || anchors.some((one) => Number(one) === Number(value)),
  )
}

/** Whether the text that was given the say names the thing itself: then its author chose it. */
function isDictated({ known }: Sink, { role, value }: TracedValue): boolean {
  if (isOwn(exactForm(value), known)) return false
  if (role !== 'selector' && role !== 'destination' && role !== 'attachment') return false
  const form = looseForm(value)
  return known.provenance.untrusted.sources.some((source) => isDesignated(source, known) && holds(source.text, form))
}

/** Links and disguised text in what goes out: both are read as the user's own word. */
export const disguisedContent: DataFlowRule = (sink, ctx) =>
  isTainted(sink) && sink.call.tool.effect === 'egress' ? ctx.inTurns(disguisedContentSteps(sink, ctx)) : undefined

function* disguisedContentSteps(sink: Sink, ctx: HookContext): Steps<RuleAnswer | undefined> {
  for (const one of sink.values) {
    if (one.role !== 'content') continue
    const hidden = yield* firstHidden(one.value, sink)
    const veiled = sink.hits.find(({ path, view }) => path === one.path && disguises.has(view))
    if (hidden || veiled) {
      return {
        ask: { reason: `${sink.call.tool.name} would send text that is encoded`, evidence: evidenceOf(sink, one) },
      }
    }
    if (one.value.length > longText) yield
    let looked = 0
    for (const address of linksIn(one.value)) {
      if (++looked % pauseEvery === 0) yield
      const origin = yield* originSteps(address, sink.call.tool, sink.known)
      if (isOurs(origin)) continue
      const sources =
        origin.kind === 'prose' ? origin.sources : 'leaves' in origin ? origin.leaves.map(({ source }) => source) : []
      const meant = sources.some((source) => isDesignated(source, sink.known) && !isFetched(source, sink.known))
      if (meant && speaksOfPages(address, sink, ctx)) continue
      const link = { ...one, value: address, origin }
      return {
        ask: {
          reason: `${sink.call.tool.name} would pass on the link ${brief(address)}, which somebody else wrote`,
          evidence: evidenceOf(sink, link),
        },
      }
    }
  }
  return undefined
}

/** Whether anything is encoded in a text that the human did not write. */
function* firstHidden(text: string, sink: Sink): Steps<boolean> {
  let looked = 0
  for (const { written } of yield* encodedTextSteps(text)) {
    if (!isOwn(yield* exactFormSteps(written), sink.known)) return true
    if ((looked += written.length) < longText) continue
    looked = 0
    yield
  }
  return false
}

/** The links that are written there, and those that show once escapes are undone and what is not seen is gone. */
function linksIn(text: string): ReadonlySet<string> {
  const plain = plainForm(text)
  return new Set([...urlsIn(text), ...urlsIn(plain), ...urlsIn(withoutEscapes(plain)?.text ?? '')])
}

const disguises: ReadonlySet<string> = new Set(['base64', 'base64url', 'hex', 'reversed', 'rot13'])

/** What is done is what the human's words imply. Depends on the language of the request. */
export const impliedTool: DataFlowRule = (sink) => {
  if (!isTainted(sink) || sink.implied === 'asked' || sink.implied === 'delegated') return undefined
  const { tool, label } = sink.call
  const reason =
    sink.implied === 'no'
      ? `the user's words do not ask for ${tool.name}, and something untrusted was read before`
      : `it cannot be told whether the user's words ask for ${tool.name}`
  return { ask: { reason, evidence: { sources: label.sources } } }
}

function isOurs({ kind }: Origin): boolean {
  return kind === 'own' || kind === 'trusted'
}

const tainted = new WeakMap<Sink, boolean>()

/**
 * Before anything untrusted was read there is nobody else whose will it could be, but for those who defined tools: a call
 * that goes to an address, or passes on a link, which the definition of a tool from elsewhere speaks of may be theirs.
 */
function isTainted(sink: Sink): boolean {
  if (sink.call.label.integrity === 'untrusted') return true
  let found = tainted.get(sink)
  if (found === undefined) tainted.set(sink, (found = isSuggestedByTool(sink)))
  return found
}

/** Longer values are not traced in one go. */
const mostTraced = 2_000

function isSuggestedByTool({ call, values, known }: Sink): boolean {
  const { definitions } = known
  if (definitions.tools.length === 0) return false
  const isTheirs = (value: string): boolean => {
    if (!isSuggested(value, definitions)) return false
    // A longer value is not worth a pause of the process: it counts as theirs.
    return value.length > mostTraced || !isOurs(finish(originSteps(value, call.tool, known)))
  }
  return values.some(({ role, value }) => {
    if (role === 'destination') return isTheirs(value)
    return role === 'content' && call.tool.effect === 'egress' && [...linksIn(value)].some(isTheirs)
  })
}

/** Where a value came from, for a human: names, places and no more text than the value itself. */
export function evidenceOf(sink: Sink, one: TracedValue): { readonly [key: string]: Json } {
  const { origin, path, role, value } = one
  const hit = sink.hits.find((each) => each.path === path)
  return {
    tool: sink.call.tool.name,
    argument: path,
    role,
    value: brief(value),
    origin: origin.kind,
    from: placesOf(origin),
    ...(hit && { span: { source: hit.source, start: hit.span[0], end: hit.span[1], view: hit.view } }),
  }
}

function placesOf(origin: Origin): Json {
  if ('leaves' in origin) {
    return origin.leaves
      .slice(0, 4)
      .map(({ source, pointer }) => ({ source: source.name, labelled: [...source.label.sources], place: pointer }))
  }
  if (origin.kind !== 'prose') return []
  return origin.sources.slice(0, 4).map((source) => ({ source: source.name, labelled: [...source.label.sources] }))
}

function brief(value: string): string {
  return value.length > 80 ? `${value.slice(0, 79)}…` : value
}

/** The default rules, in their order: what refuses comes before what asks. */
export const intentPreset: readonly DataFlowRule[] = Object.freeze([
  named('secret-argument', secretArgument),
  named('confidentiality', confidentiality),
  named('composed-address', composedAddress),
  named('fetched-address', fetchedAddress),
  named('argument-origin', argumentOrigin),
  named('disguised-content', disguisedContent),
  named('intent', impliedTool),
])

/** A rule under the name it has in the audit. */
export function named(name: string, rule: DataFlowRule): DataFlowRule {
  const renamed: DataFlowRule = (sink, ctx) => rule(sink, ctx)
  return Object.defineProperty(renamed, 'name', { value: name })
}
