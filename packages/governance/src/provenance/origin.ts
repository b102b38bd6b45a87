import type { ArgRole, HookContext, Message, Steps, ToolCall, ToolInfo } from '@provost/core'
import { isRecord, textOf } from '@provost/core'

import { longText } from '../text/long-text.ts'
import { bareAddress, isUrl, namesIn } from '../wording/address.ts'
import { exactForm, exactFormSteps, holds, looseForm, looseFormSteps, wordsOf } from '../wording/exact-form.ts'
import { isKnownWord } from '../wording/semantic-class.ts'
import { roleValuesOf } from './argument-role.ts'
import type { Definitions } from './definition.ts'
import { definitionHash, definitionsOf, definitionsWith, isForeign, isSuggested } from './definition.ts'
import type { Leaf } from './leaf.ts'
import { columnOf, longestTelling, mostInRecord } from './leaf.ts'
import type { Provenance } from './provenance-state.ts'
import { approvalKey } from './provenance-state.ts'
import type { Source } from './source.ts'
import { sourcesWith, sourcesWithSteps } from './source.ts'
import { isTold } from './told-record.ts'

/**
 * The origin of a value, from the best to the worst.
 * - `own`: the user wrote or approved it, agreed to an answer that shows it, or the instructions or a local tool's description contain it.
 * - `trusted`: a trusted result contains it, or the model wrote it before it read untrusted content.
 * - `field`: it is in a field that no outsider can write.
 * - `value`: it is a whole value of an untrusted result.
 * - `prose`: an untrusted text contains it.
 * - `nowhere`: the model made it, or copied it from a hidden place.
 */
export type Origin =
  | { readonly kind: 'own' | 'trusted' | 'nowhere' }
  | { readonly kind: 'field' | 'value'; readonly leaves: readonly Leaf[] }
  | { readonly kind: 'prose'; readonly sources: readonly Source[] }

/** The state that a call is judged by. */
export interface Knowledge {
  readonly provenance: Provenance
  /** The user's messages, in exact form. */
  readonly userTexts: readonly string[]
  /** Answers of the agent that the user read and agreed to in the present turn, in exact form. */
  readonly confirmed: readonly string[]
  /** Whether a human approved the call with these arguments for the session. */
  readonly isApproved: boolean
  /** The names in the user's messages, in lower case. */
  readonly userNames: ReadonlySet<string>
  readonly instructions: string
  readonly tools: ReadonlyMap<string, ToolInfo>
  /** The definitions of remote tools. */
  readonly definitions: Definitions
  /** The present year (UTC). */
  readonly year: number
}

const forms = new WeakMap<Message, string>()

/** Returns a message in exact form, with a space after each full stop that ends a sentence. */
function userTextOf(message: Message): string {
  let form = forms.get(message)
  if (form === undefined) {
    form = exactForm(textOf(message).replaceAll(/(?<=[\p{Ll}\d])\.(?=\p{Lu}\p{Ll})/gu, '. '))
    forms.set(message, form)
  }
  return form
}

/** Returns the state that a call is judged by at this point of a run. */
export function knowledgeOf(
  provenance: Provenance,
  { tool, input }: ToolCall,
  ctx: HookContext,
  confirmed: readonly string[],
): Knowledge {
  const { approved } = provenance
  return {
    isApproved: approved.size > 0 && approved.has(approvalKey(tool.name, definitionHash(tool), input)),
    provenance,
    userTexts: ctx.intent.map(userTextOf),
    confirmed: confirmed.map(exactForm),
    userNames: new Set(ctx.intent.flatMap(userNamesIn)),
    instructions: exactForm(ctx.instructions),
    tools: new Map(ctx.tools.map((one) => [one.name, one])),
    definitions: definitionsOf(ctx.tools),
    year: new Date(ctx.now()).getUTCFullYear(),
  }
}

/**
 * Traces a value of a call to its origin.
 *
 * @param role what the value decides, if it is an argument: a lookup vouches for the key of a record only.
 */
export function* originSteps(value: string, tool: ToolInfo, known: Knowledge, role?: ArgRole): Steps<Origin> {
  const isLong = value.length > longText
  const exact = isLong ? yield* exactFormSteps(value) : exactForm(value)
  const bare = bareForm(exact)
  const isPronoun = role === 'destination' && pronouns.has(exact)
  if (
    exact === '' ||
    (!isPronoun && isOwn(exact, known)) ||
    (bare !== exact && isOwn(bare, known)) ||
    known.confirmed.some((text) => holds(text, exact)) ||
    isFrozen(exact, known) ||
    known.isApproved
  ) {
    return { kind: 'own' }
  }
  // The description of a remote tool vouches for nothing: its server chose the text.
  if (!isForeign(tool) && holds(toolTextOf(tool), exact)) return { kind: 'own' }
  if (isClean(exact, known)) return { kind: 'trusted' }
  const { trusted, untrusted, leaves } = known.provenance
  for (const source of yield* sourcesWithSteps(trusted, exact))
    if (vouchesFor(source, exact, known, role)) return { kind: 'trusted' }
  const loose = isLong ? yield* looseFormSteps(value) : looseForm(value)
  const found = leaves.get(loose) ?? []
  const fields = found.filter(({ systemMade }) => systemMade)
  if (fields.length > 0) return { kind: 'field', leaves: fields }
  if (found.length > 0) return { kind: 'value', leaves: found }
  const texts = [...(yield* sourcesWithSteps(untrusted, loose))]
  // The model may add the scheme that a text leaves out.
  if (texts.length === 0 && bare !== exact) texts.push(...(yield* sourcesWithSteps(untrusted, looseForm(bare))))
  const sources = [...texts, ...definitionsWith(value, known.definitions)]
  // The original source tells a human more than a note that repeats it.
  const first = sources.filter(({ isNote }) => !isNote)
  return sources.length > 0 ? { kind: 'prose', sources: first.length > 0 ? first : sources } : { kind: 'nowhere' }
}

/** Words that stand for people or things: in a request they name no recipient that is called so, such as the room `it`. */
const pronouns: ReadonlySet<string> = new Set(
  'i me my you your he him his she her it its we us our they them their this that mir mich uns ihm ihr ihnen moi nous lui leur eux nos les ella ellos'.split(
    ' ',
  ),
)

/** Returns a web address in the form that is compared: the user seldom writes the scheme. */
function bareForm(exact: string): string {
  const bare = bareAddress(exact)
  return bare !== exact && isUrl(bare) ? bare : exact
}

const descriptions = new WeakMap<ToolInfo, string>()

/** Returns a tool's description and schema, in exact form. */
function toolTextOf(tool: ToolInfo): string {
  let said = descriptions.get(tool)
  if (said === undefined) {
    said = exactForm(`${tool.description ?? ''} ${JSON.stringify(tool.inputSchema)}`)
    descriptions.set(tool, said)
  }
  return said
}

/**
 * Returns whether a trusted result vouches for a value. Of a value that stood in the call's own input it tells that there is
 * such a record, and not who chose it. So a lookup vouches for the key of a record that it returned as a whole, and for an
 * address that it returned in a field for addresses, with more about it.
 */
function vouchesFor(
  { inputText, wholeValues, addresses, call }: Source,
  exact: string,
  { tools }: Knowledge,
  role: ArgRole | undefined,
): boolean {
  if (!holds(inputText, exact)) return true
  const effect = call && tools.get(call.toolName)?.effect
  if (effect !== 'read' && effect !== 'none') return false
  if (role === 'destination') return addresses?.has(exact) === true
  return role === 'selector' && isKey(exact) && wholeValues.has(exact)
}

/** Characters of the shortest value that a script vouches for: shorter ones occur in too many scripts. */
const shortestFrozen = 4

/**
 * Returns whether a script that the model wrote before it read untrusted content contains the value. What the definition of
 * a remote tool mentions may be its server's choice.
 */
function isFrozen(exact: string, { provenance, definitions }: Knowledge): boolean {
  return (
    exact.length >= shortestFrozen &&
    provenance.cleanInputs.some((text) => holds(text, exact)) &&
    !isSuggested(exact, definitions)
  )
}

/** Returns whether the model used a value in a call before it read untrusted content: no outsider can have written it. */
export function isClean(exact: string, { provenance, definitions }: Knowledge): boolean {
  return exact.length >= shortestFrozen && provenance.cleanValues.has(exact) && !isSuggested(exact, definitions)
}

/** Returns whether the user's messages or the instructions contain a value as a whole. */
export function isOwn(exact: string, { userTexts, instructions }: Knowledge): boolean {
  if (userTexts.some((text) => holds(text, exact)) || holds(instructions, exact)) return true
  // Users leave out the sign of a number: `W17` is `#W17`.
  return numbered.test(exact) && userTexts.some((text) => holds(text, exact.slice(1)))
}

const numbered = /^#[\p{L}\p{N}]{3,}$/u

/**
 * Returns whether an untrusted text that the user did not point at mentions a value. A line that is only the value does
 * not count. A handoff note does not count either if a source that the user pointed at contains the value.
 */
export function isMentionedBySource(value: string, known: Knowledge): boolean {
  const form = looseForm(value)
  const { trusted, untrusted } = known.provenance
  const all = sourcesWith(untrusted, form)
  const isPassedOn = (): boolean =>
    [...all, ...sourcesWith(trusted, exactForm(value))].some((source) => !source.isNote && isDesignated(source, known))
  return all.some(
    (source) =>
      source.text.split('\n').some((line) => line.length > form.length && holds(line, form)) &&
      !isDesignated(source, known) &&
      !(source.isNote && isPassedOn()),
  )
}

/** A call with more pointing values than this points at nothing. */
const mostPointing = 256
/** Roles of arguments that select what is read. */
const pointing: readonly ArgRole[] = ['selector', 'destination']

/**
 * Returns whether the user pointed at a source: all pointing arguments of its call are the user's own. A call without
 * such arguments, such as a list of everything, does not qualify.
 */
export function isDesignated({ call }: Source, known: Knowledge): boolean {
  const tool = call && known.tools.get(call.toolName)
  if (!tool) return false
  const values = roleValuesOf({ input: call.input, tool }).filter(({ role }) => pointing.includes(role))
  return (
    values.length <= mostPointing &&
    values.some(({ guessed }) => !guessed) &&
    values.every(({ value }) => isOwn(exactForm(value), known))
  )
}

/** Returns whether a source was fetched from an address: the owner of the address controls its text. */
export function isFetched({ call }: Source, known: Knowledge): boolean {
  const tool = call && known.tools.get(call.toolName)
  return tool !== undefined && tool.effect === 'egress'
}

/**
 * Returns whether an address consists of names that the user wrote: `dora@example.com` if the user mentions Dora. A name
 * starts with a capital, if the script has capitals, and is not in the lexicon: `Mail it` does not name `mail@evil.io`.
 */
export function isNamed(address: string, { userNames }: Knowledge): boolean {
  const words = namesIn(address)
  return words.length > 0 && words.every((word) => userNames.has(word))
}

const spoken = new WeakMap<Message, readonly string[]>()

function userNamesIn(message: Message): readonly string[] {
  let found = spoken.get(message)
  if (!found) {
    const words =
      textOf(message)
        .slice(0, 20_000)
        .match(/\p{Lu}[\p{L}\p{M}]{2,}|\p{Lo}[\p{Lo}\p{M}]{2,}/gu) ?? []
    found = [...new Set(words)].map((word) => word.toLowerCase()).filter((word) => !isKnownWord(word))
    spoken.set(message, found)
  }
  return found
}

/** Returns the values of a record that the request contains, out of the fields that no outsider can write. */
export function isRecordNamed(leaf: Leaf, known: Knowledge): readonly string[] {
  if (leaf.record.length > mostInRecord) return []
  return leaf.record.filter(({ value, systemMade }) => systemMade && saidValue(value, known)).map(({ value }) => value)
}

/**
 * Returns whether a text mentions a record that the user did not mention, and that the model did not choose before it read
 * the text.
 */
export function isRecordTold({ record, pointer }: Leaf, value: string, known: Knowledge): boolean {
  // The record has more values than the fold keeps, so any text may mention it.
  if (record.length > mostInRecord) return true
  for (const one of record)
    if (one.value.length >= 4 && known.userTexts.some((text) => holds(text, one.value))) return false
  const { provenance } = known
  return !provenance.chosen.has(looseForm(value)) && isTold({ record, pointer }, value, provenance)
}

/** Returns whether the user named a record by one of its values that has letters. */
export function isTitleSaid({ record }: Leaf, { userTexts }: Knowledge): boolean {
  if (record.length > mostInRecord) return false
  return record.some(
    ({ value }) =>
      value.length >= 5 &&
      value.length <= longestTelling &&
      /\p{L}/u.test(value) &&
      userTexts.some((text) => holds(text, value)),
  )
}

/**
 * Returns whether a record has a word of the user's: in a value, or in a key that leads to it, such as `Smart watch`. Words
 * of the lexicon describe too many records.
 */
export function isDescribed({ record, pointer }: Leaf, { userTexts }: Knowledge): boolean {
  const said = new Set(userTexts.flatMap(wordsOf).map(singular))
  const texts = [pointer, ...record.map(({ value }) => value).filter((value) => value.length <= longestTelling)]
  return texts
    .flatMap(wordsOf)
    .some((word) => word.length >= 3 && !/^\d/.test(word) && said.has(singular(word)) && !isKnownWord(word))
}

function singular(word: string): string {
  return word.length > 3 ? word.replace(/s$/u, '') : word
}

/** Returns whether a word names the object of an earlier call, such as a channel or a file. */
export function isKeyOfCall(word: string, { provenance }: Knowledge): boolean {
  return provenance.untrusted.sources.some(
    ({ call }) =>
      isRecord(call?.input) &&
      Object.values(call.input).some((key) => typeof key === 'string' && holds(exactForm(key), word)),
  )
}

function saidValue(value: string, { userTexts }: Knowledge): boolean {
  if (/^-?\d+(\.\d+)?$/.test(value)) {
    const number = Number(value)
    // A single digit occurs in too many requests to name this record.
    return (
      number >= 10 &&
      userTexts.some((text) => (text.match(/\d+(?:\.\d+)?/g) ?? []).some((one) => Number(one) === number))
    )
  }
  return value.length >= 4 && userTexts.some((text) => holds(text, value))
}

/** Returns whether the user named other values of the same kind: then the user does not mean an unnamed one. */
export function namesOthers(leaves: readonly Leaf[], { provenance, userTexts }: Knowledge): boolean {
  return leaves.some((leaf) => {
    for (const value of provenance.columns.get(columnOf(leaf)) ?? [])
      if (userTexts.some((text) => holds(text, value))) return true
    return false
  })
}

/** Returns whether a value has the form of a key: no name, address or text, which people write. */
export function isKey(value: string): boolean {
  return value.length <= 64 && /\d/.test(value) && /^#?[\p{L}\p{N}]+(?:[_-][\p{L}\p{N}]+)*$/u.test(value)
}
