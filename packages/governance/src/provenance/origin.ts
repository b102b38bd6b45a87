import type { ArgRole, HookContext, Message, Steps, ToolInfo } from '@provost/core'
import { finish, isRecord, textOf } from '@provost/core'

import { longText } from '../text/long-text.ts'
import { namesIn } from '../wording/address.ts'
import { exactForm, exactFormSteps, holds, looseForm, looseFormSteps, wordsOf } from '../wording/exact-form.ts'
import { isKnownWord } from '../wording/semantic-class.ts'
import { roleValuesOf } from './argument-role.ts'
import { definitionHash } from './definition-hash.ts'
import type { Definitions } from './definition.ts'
import { definitionsOf, definitionsWith, isForeign } from './definition.ts'
import type { Leaf, Provenance, Shelf } from './provenance.ts'
import { approvalKey, columnOf, mostInRecord } from './provenance.ts'
import type { Source } from './source.ts'

/**
 * Where a value comes from, from the best to the worst. `own`: the human wrote it, approved it, or it stands in our
 * instructions or the description of a tool of ours. `trusted`: a trusted result has it. `field`: no outsider can write the
 * field it stands in. `value`: it is a whole value of an untrusted result. `prose`: it stands in an untrusted text.
 * `nowhere`: the model made it, or copied it from where it was hidden.
 */
export type Origin =
  | { readonly kind: 'own' | 'trusted' | 'nowhere' }
  | { readonly kind: 'field' | 'value'; readonly leaves: readonly Leaf[] }
  | { readonly kind: 'prose'; readonly sources: readonly Source[] }

/** What is known when a call is judged. */
export interface Knowledge {
  readonly provenance: Provenance
  /** The human's words, in exact form. */
  readonly said: readonly string[]
  /** The names in them, in lower case. */
  readonly names: ReadonlySet<string>
  readonly instructions: string
  readonly tools: ReadonlyMap<string, ToolInfo>
  /** What tools from elsewhere say of themselves. */
  readonly definitions: Definitions
}

const forms = new WeakMap<Message, string>()

/** A message in exact form; where a full stop lacks its space, the next sentence begins all the same. */
function saidIn(message: Message): string {
  let form = forms.get(message)
  if (form === undefined) {
    form = exactForm(textOf(message).replaceAll(/(?<=[\p{Ll}\d])\.(?=\p{Lu}\p{Ll})/gu, '. '))
    forms.set(message, form)
  }
  return form
}

/** What is known at this point of a run. */
export function knowledgeOf(provenance: Provenance, ctx: HookContext): Knowledge {
  return {
    provenance,
    said: ctx.intent.map(saidIn),
    names: new Set(ctx.intent.flatMap(namesSaid)),
    instructions: exactForm(ctx.instructions),
    tools: new Map(ctx.tools.map((tool) => [tool.name, tool])),
    definitions: definitionsOf(ctx.tools),
  }
}

/** Traces a value of a call back to where it came from. */
export function* originSteps(value: string, tool: ToolInfo, known: Knowledge): Steps<Origin> {
  const isLong = value.length > longText
  const exact = isLong ? yield* exactFormSteps(value) : exactForm(value)
  if (
    exact === '' ||
    isOwn(exact, known) ||
    isFrozen(exact, known) ||
    (known.provenance.approved.size > 0 &&
      known.provenance.approved.has(approvalKey(tool.name, definitionHash(tool), value)))
  ) {
    return { kind: 'own' }
  }
  // A tool from elsewhere vouches for nothing: what it says of itself, its server chose.
  if (!isForeign(tool) && holds(saidOfTool(tool), exact)) return { kind: 'own' }
  const { trusted, untrusted, leaves } = known.provenance
  for (const source of yield* shelvedSteps(trusted, exact))
    if (vouchesFor(source, exact, known)) return { kind: 'trusted' }
  const loose = isLong ? yield* looseFormSteps(value) : looseForm(value)
  const found = leaves.get(loose) ?? []
  const fields = found.filter(({ systemMade }) => systemMade)
  if (fields.length > 0) return { kind: 'field', leaves: fields }
  if (found.length > 0) return { kind: 'value', leaves: found }
  const sources = [...(yield* shelvedSteps(untrusted, loose)), ...definitionsWith(value, known.definitions)]
  // Who said it first tells a human more than who passed it on.
  const first = sources.filter(({ isNote }) => !isNote)
  return sources.length > 0 ? { kind: 'prose', sources: first.length > 0 ? first : sources } : { kind: 'nowhere' }
}

const descriptions = new WeakMap<ToolInfo, string>()

/** What a tool says of itself, in exact form. */
function saidOfTool(tool: ToolInfo): string {
  let said = descriptions.get(tool)
  if (said === undefined) {
    said = exactForm(`${tool.description ?? ''} ${JSON.stringify(tool.inputSchema)}`)
    descriptions.set(tool, said)
  }
  return said
}

/** Whether a trusted result says a value of itself: what is looked up by a key is found with it, what was sent is only told of. */
function vouchesFor({ asked, wholes, call }: Source, exact: string, { tools }: Knowledge): boolean {
  if (!holds(asked, exact)) return true
  const effect = call && tools.get(call.toolName)?.effect
  return wholes.has(exact) && (effect === 'read' || effect === 'none')
}

/** Shorter values stand in too many scripts to have been meant. */
const shortestFrozen = 4

/** Whether it stands in a script that was written before anybody else had a say. */
function isFrozen(exact: string, { provenance }: Knowledge): boolean {
  return exact.length >= shortestFrozen && provenance.frozen.some((text) => holds(text, exact))
}

/** Whether the human or our instructions said this, as a whole. */
export function isOwn(exact: string, { said, instructions }: Knowledge): boolean {
  return said.some((text) => holds(text, exact)) || holds(instructions, exact)
}

/**
 * Whether an untrusted text that the human did not point at speaks of a value; one that is the value and nothing else
 * does not. Nor does what one agent writes to the next, if it stands in something that the human pointed at: there the
 * agent has it from.
 */
export function isToldOf(value: string, known: Knowledge): boolean {
  const form = looseForm(value)
  const { trusted, untrusted } = known.provenance
  const all = shelved(untrusted, form)
  const isPassedOn = (): boolean =>
    [...all, ...shelved(trusted, exactForm(value))].some((source) => !source.isNote && isDesignated(source, known))
  return all.some(
    (source) =>
      source.text.split('\n').some((line) => line.length > form.length && holds(line, form)) &&
      !isDesignated(source, known) &&
      !(source.isNote && isPassedOn()),
  )
}

/** The sources that hold a value as a whole, found by its rarest word. */
function shelved(shelf: Shelf, form: string): readonly Source[] {
  return finish(shelvedSteps(shelf, form))
}

/** Characters of a value whose words are looked up: any of its words leads to all that hold it. */
const longestClue = 4_096

function* shelvedSteps({ sources, byWord }: Shelf, form: string): Steps<readonly Source[]> {
  const clue = form.length > longestClue ? form.slice(0, longestClue).replace(/[\p{L}\p{N}]+$/u, '') : form
  const words = wordsOf(clue)
  // Scripts without spaces have no words to go by.
  let candidates: readonly Source[] = sources
  if (words.length > 0 && !/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u.test(clue)) {
    for (const word of words) {
      const having = byWord.get(word) ?? []
      if (having.length < candidates.length) candidates = having
    }
  }
  const holding: Source[] = []
  let looked = 0
  for (const source of candidates) {
    if (holds(source.text, form)) holding.push(source)
    if ((looked += source.text.length) < longText) continue
    looked = 0
    yield
  }
  return holding
}

/** A call that points at more things than this points at none. */
const mostPointing = 256
/** Arguments that say which thing is read. */
const pointing: readonly ArgRole[] = ['selector', 'destination']

/**
 * Whether the human pointed at a source: it is what a call gave whose arguments were all the human's own. A list of
 * everything was not pointed at.
 */
export function isDesignated({ call }: Source, known: Knowledge): boolean {
  const tool = call && known.tools.get(call.toolName)
  if (!tool) return false
  const values = roleValuesOf({ input: call.input, tool }).filter(({ role }) => pointing.includes(role))
  return (
    values.length > 0 && values.length <= mostPointing && values.every(({ value }) => isOwn(exactForm(value), known))
  )
}

/** Whether a source is what stood at an address: its words are those of whoever owns it. */
export function isFetched({ call }: Source, known: Knowledge): boolean {
  const tool = call && known.tools.get(call.toolName)
  return tool !== undefined && tool.effect === 'egress'
}

/**
 * Whether an address is made of names that the human wrote: `dora@example.com`, where the human spoke of Dora. A name is
 * written with a capital, where the script has those, and is no word for a deed or a thing: `mail@evil.io` is not named
 * by `Mail it`.
 */
export function isNamed(address: string, { names }: Knowledge): boolean {
  const words = namesIn(address)
  return words.length > 0 && words.every((word) => names.has(word))
}

const spoken = new WeakMap<Message, readonly string[]>()

function namesSaid(message: Message): readonly string[] {
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

/** Whether the human spoke of the record: a number or a word of a field that no outsider can write stands in the request. */
export function isRecordNamed(leaf: Leaf, known: Knowledge): readonly string[] {
  if (leaf.record.length > mostInRecord) return []
  return leaf.record.filter(({ value, systemMade }) => systemMade && saidValue(value, known)).map(({ value }) => value)
}

/**
 * Whether a text speaks of a record that the human did not speak of: of its number, or of what this record alone has.
 * Its own texts speak of it only by its number.
 */
export function isRecordTold({ record }: Leaf, value: string, known: Knowledge): boolean {
  // What all is in it is not known: it may be any of that.
  if (record.length > mostInRecord) return true
  const values = new Set(record.map((one) => one.value))
  for (const one of values) if (one.length >= 4 && known.said.some((text) => holds(text, one))) return false
  const id = looseForm(value)
  const { leaves, untrusted } = known.provenance
  const isIts = (one: string): boolean =>
    one.length >= 6 &&
    one.length <= longestTelling &&
    /\p{L}/u.test(one) &&
    (leaves.get(one) ?? []).every((leaf) => leaf.record.some((other) => other.value === id))
  return [id, ...[...values].filter(isIts)].some((one) =>
    shelved(untrusted, one).some(({ text }) =>
      text
        .split('\n')
        .some((line) => line.length > one.length && (one === id || !values.has(line)) && speaksOf(line, one)),
    ),
  )
}

/** Short numbers stand in any text: that a row is meant must be said. */
function speaksOf(line: string, value: string): boolean {
  if (!/^\d{1,4}$/.test(value)) return holds(line, value)
  return new RegExp(
    `(?:\\bids?|#|\\bn[or]\\.?|number|nummer|n[uú]mero|رقم|号|編號|编号)[\\s:="'“‘_-]{0,4}${value}(?!\\d)`,
    'u',
  ).test(line)
}

/** Whether the human called a record by a value that it has in words. */
export function isTitleSaid({ record }: Leaf, { said }: Knowledge): boolean {
  if (record.length > mostInRecord) return false
  return record.some(
    ({ value }) =>
      value.length >= 5 &&
      value.length <= longestTelling &&
      /\p{L}/u.test(value) &&
      said.some((text) => holds(text, value)),
  )
}

/** Longer values of a record are texts, which replies quote. */
const longestTelling = 80

/** Whether a word names what a call has read: a channel, a file. */
export function isKeyOfCall(word: string, { provenance }: Knowledge): boolean {
  return provenance.untrusted.sources.some(
    ({ call }) =>
      isRecord(call?.input) &&
      Object.values(call.input).some((key) => typeof key === 'string' && holds(exactForm(key), word)),
  )
}

function saidValue(value: string, { said }: Knowledge): boolean {
  if (/^-?\d+(\.\d+)?$/.test(value)) {
    const number = Number(value)
    // One digit stands in too many requests to mean this record.
    return (
      number >= 10 && said.some((text) => (text.match(/\d+(?:\.\d+)?/g) ?? []).some((one) => Number(one) === number))
    )
  }
  return value.length >= 4 && said.some((text) => holds(text, value))
}

/** Whether the human called others of the same kind by name: then one that was not named is not meant. */
export function namesOthers(leaves: readonly Leaf[], { provenance, said }: Knowledge): boolean {
  return leaves.some((leaf) => {
    for (const value of provenance.columns.get(columnOf(leaf)) ?? [])
      if (said.some((text) => holds(text, value))) return true
    return false
  })
}
