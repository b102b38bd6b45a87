import type { Entry, EntryOf, Fold, Json, JsonPointer, Label, Message, Steps, ToolOutput } from '@provost/core'
import {
  assertNever,
  escapePointer,
  fillLabel,
  finish,
  isRecord,
  labelOf,
  purposeOf,
  textOf,
  trustedLabel,
  untrustedLabel,
} from '@provost/core'

import type { TaintIndex } from '../taint/taint-index.ts'
import { createTaintIndex } from '../taint/taint-index.ts'
import { longText } from '../text/long-text.ts'
import {
  distinctWords,
  exactForm,
  exactFormSteps,
  includes,
  looseForm,
  looseFormSteps,
  wordsOf,
} from '../wording/exact-form.ts'
import { covers } from './argument-role.ts'
import type { Source } from './source.ts'

/** A whole value of a JSON result. */
export interface Leaf {
  readonly source: Source
  readonly pointer: string
  /** The tool declares that no outsider can write this field. */
  readonly systemMade: boolean
  /** All values of the same record. */
  readonly record: readonly { readonly value: string; readonly systemMade: boolean }[]
}

/** What a session has read, and from which sources. A cache that each reader of the log builds anew. */
export interface Provenance {
  readonly trusted: Shelf
  readonly untrusted: Shelf
  /** Whole values of untrusted results, in loose form. */
  readonly leaves: Map<string, Leaf[]>
  /** Whole values by column: the tool and the pointer without row numbers. */
  readonly columns: Map<string, Set<string>>
  /** Finds spans of untrusted text, verbatim or rewritten. */
  readonly index: TaintIndex
  /** Keys of tool, definition and value that a human approved for the rest of the session. */
  readonly approved: Set<string>
  /** Whether the session has read data labelled secret. */
  secretRead: boolean
  /** Whether the session has read untrusted content. */
  untrustedRead: boolean
  readonly calls: Map<string, OpenCall>
  /**
   * Input values of composite calls that the model wrote before it read untrusted content, in exact form. A script
   * contributes its literals only: `mail.id` in code is not a host.
   */
  readonly frozen: string[]
  readonly waits: Map<string, EntryOf<'wait'>>
}

/** A call without a result yet. */
interface OpenCall {
  readonly toolName: string
  input: Json
  /** Whether the model had read nothing untrusted when it wrote the call. */
  readonly clean?: boolean
  readonly parentCallId?: string
  /** Of a composite: the values that its nested calls returned, in loose form. */
  told?: Set<string>
}

/** Sources by the words in them. */
export interface Shelf {
  readonly sources: Source[]
  readonly byWord: Map<string, Source[]>
}

/** Leaves kept per value: more add no information. */
const mostPlaces = 64
/** Values longer than this are texts. */
const longestLeaf = 300
/** Characters of the longest text that is parsed as JSON. */
const longestJson = 1_000_000

function empty(): Provenance {
  return {
    trusted: { sources: [], byWord: new Map() },
    untrusted: { sources: [], byWord: new Map() },
    leaves: new Map(),
    columns: new Map(),
    index: createTaintIndex(),
    approved: new Set(),
    secretRead: false,
    untrustedRead: false,
    calls: new Map(),
    frozen: [],
    waits: new Map(),
  }
}

/**
 * Folds a log into what its session has read. The state grows in place: each reader of a log starts empty and keeps a
 * state of its own.
 */
export const provenanceFold: Fold<Provenance | undefined> = {
  key: 'governance/provenance',
  initial: undefined,
  apply: (state = empty(), entry) => finish(readInto(state, entry)),
  steps: (state = empty(), entry) => readInto(state, entry),
}

function* readInto(state: Provenance, entry: Entry): Steps<Provenance> {
  yield* read(state, entry)
  return state
}

function* read(state: Provenance, entry: Entry): Steps<void> {
  switch (entry.type) {
    case 'message':
      yield* readMessage(state, entry.message, entry.via, purposeOf(entry) === 'handoff-note')
      break
    case 'view':
      for (const message of entry.with) yield* readMessage(state, message, 'view', false)
      break
    case 'call':
      if (entry.op === 'planned') yield* readPlanned(state, entry)
      else if (entry.op === 'decided') {
        const call = state.calls.get(entry.callId)
        if (call) call.input = entry.args
      } else if (entry.op === 'settled') yield* readResult(state, entry)
      break
    case 'wait':
      if (entry.kind === 'approval' && entry.callId !== undefined) state.waits.set(entry.token, entry)
      break
    case 'resolved':
      yield* readApproval(state, entry)
      break
    case 'run':
    case 'attempt':
    case 'child':
    case 'handoff':
    case 'tail':
    case 'memo':
    case 'ext':
    case 'audit':
      break
    default:
      assertNever(entry)
  }
}

function* readMessage(state: Provenance, message: Message, via: string, isNote: boolean): Steps<void> {
  const { role, content } = message
  if (via === 'model') {
    for (const part of content) {
      if (part.type === 'tool-call') {
        const { callId, toolName, input } = part
        state.calls.set(callId, { toolName, input, clean: labelOf(message).integrity === 'trusted' })
      }
      // The result of a provider's own tool comes from outside and has no separate entry.
      if (part.type === 'tool-result')
        yield* addOutput(state, part.toolName, part.output, labelOf({ role: 'tool', content: [part] }))
    }
    return
  }
  const label = labelOf(message)
  for (const part of content) {
    if (part.type !== 'tool-result') continue
    yield* addOutput(state, part.toolName, part.output, fillLabel(part.label, label), { fields: part.fields })
  }
  const text = textOf(message)
  if (text === '') return
  if (label.integrity === 'untrusted') {
    note(state, label)
    yield* shelve(state, {
      ...{ name: label.sources[0] ?? role, label, text: yield* looseFormSteps(text), asked: '', wholes: nothing },
      ...(isNote && { isNote }),
    })
    yield* state.index.inSteps.add(text, { source: label.sources[0] ?? role, label })
  } else {
    // The user's messages are found in the intent; other trusted messages are instructions.
    if (role !== 'user') {
      const form = yield* exactFormSteps(text)
      yield* shelve(state, { name: role, label, text: form, asked: '', wholes: nothing })
    }
    yield* state.index.inSteps.exempt(text)
  }
}

/** Reads a nested call of a composite. The parent's input counts as a script, its result is made of nested results. */
function* readPlanned(
  state: Provenance,
  { callId, parentCallId, toolName, args }: EntryOf<'call', 'planned'>,
): Steps<void> {
  const parent = state.calls.get(parentCallId)
  if (parent && !parent.told) {
    parent.told = new Set()
    if (parent.clean) {
      const found = yield* collect(parent.input, trustedLabel, undefined)
      state.frozen.push(found.flatMap(({ value }) => saidBy(value)).join('\n'))
    }
  }
  state.calls.set(callId, { toolName, input: args, parentCallId })
}

/** Matches a quoted text up to the end of its line, a template that may span lines, or a number. */
const literal = /(['"])((?:(?!\1)[^\\\n]|\\.)*)\1?|`((?:[^`\\]|\\.)*)`?|(?<![\w$.])\d[\d_]*(?:\.\d+)?/gs

/** Returns the literals of a composite's input value if it is code, else the value itself. */
function saidBy(value: string): readonly string[] {
  if (!/['"`]|\btools\b/.test(value) || value.length > longestJson) return [exactForm(value)]
  return Array.from(value.matchAll(literal), ([whole, quote, plain, template]) => {
    if (quote === undefined && template === undefined) return exactForm(whole)
    return whole.length > 1 && whole.endsWith(quote ?? '`') ? exactForm(plain ?? template ?? '') : ''
  })
}

function* readResult(state: Provenance, entry: EntryOf<'call', 'settled'>): Steps<void> {
  const call = state.calls.get(entry.callId)
  state.calls.delete(entry.callId)
  const label = fillLabel(entry.label, untrustedLabel(call?.toolName ?? 'tool'))
  // The runtime's message about a call that did not run may quote the model's arguments.
  if (label.integrity === 'trusted' && entry.outcome !== 'ok') return
  const told = yield* addOutput(state, call?.toolName ?? 'tool', entry.output, label, { fields: entry.fields, call })
  const parent = call?.parentCallId === undefined ? undefined : state.calls.get(call.parentCallId)
  for (const value of told) parent?.told?.add(value)
}

interface From {
  readonly fields?: Readonly<Record<JsonPointer, Label>> | undefined
  readonly call?: OpenCall | undefined
}

interface Found {
  readonly pointer: string
  readonly value: string
  readonly trusted: boolean
}

/** @returns the values of the output in loose form if a composite receives them, else an empty list. */
function* addOutput(
  state: Provenance,
  toolName: string,
  output: ToolOutput,
  label: Label,
  from: From = {},
): Steps<readonly string[]> {
  note(state, label)
  const all: Found[] = []
  const go = collector(jsonOf(output), label, from.fields, all)
  while (go()) yield
  // A value that a composite returns unchanged was already read with its nested result, under that label.
  const told = from.call?.told
  const found = told
    ? yield* selected(all, function* (one) {
        return !told.has(yield* looseFormSteps(one.value))
      })
    : all
  const asked = from.call ? yield* exactFormSteps(JSON.stringify(from.call.input)) : ''
  const wholes = new Set<string>()
  const ours: Found[] = []
  const theirs: Found[] = []
  const pauses = pauseAfter()
  for (const one of found) {
    if (pauses(one.value.length)) yield
    if (one.trusted) ours.push(one)
    else theirs.push(one)
    const key = one.pointer.slice(one.pointer.lastIndexOf('/') + 1)
    if (one.trusted && one.pointer !== '' && !isRepeated(from.call?.input, key, one.value))
      wholes.add(one.value.length > longText ? yield* exactFormSteps(one.value) : exactForm(one.value))
  }
  const call = from.call && { toolName: from.call.toolName, input: from.call.input }
  const common = { name: toolName, label, ...(call && { call }), asked, wholes }
  if (label.integrity === 'trusted' && ours.length > 0) {
    yield* shelve(state, { ...common, text: yield* joined(ours, exactForm, exactFormSteps) })
    for (const one of ours) {
      if (pauses(one.value.length)) yield
      const form = one.value.length > longText ? yield* exactFormSteps(one.value) : exactForm(one.value)
      if (!includes(asked, form)) yield* state.index.inSteps.exempt(one.value)
    }
  }
  if (theirs.length > 0 || label.integrity === 'untrusted') {
    const untrusted: Label = { ...label, integrity: 'untrusted' }
    const source: Source = { ...common, label: untrusted, text: yield* joined(theirs, looseForm, looseFormSteps) }
    state.untrustedRead = true
    yield* shelve(state, source)
    for (const one of theirs) {
      if (pauses(one.value.length)) yield
      const its = { source: label.sources[0] ?? toolName, label: untrusted }
      if (one.value.length > longText) yield* state.index.inSteps.add(one.value, its)
      else state.index.add(one.value, its)
    }
    if (found.length <= valuesTogether) keepSome(state, source, found, new Map())
    else yield* keepLeaves(state, source, found)
  }
  if (from.call?.parentCallId === undefined) return []
  const forms: string[] = []
  for (const one of all) {
    if (pauses(one.value.length)) yield
    forms.push(one.value.length > longText ? yield* looseFormSteps(one.value) : looseForm(one.value))
  }
  return forms
}

/** Values, and characters of them, that are read between two pauses. */
const valuesTogether = 256
const charactersTogether = 16_384

/** Returns a function that tells when to pause so that other work can run. Small results never pause. */
function pauseAfter(): (length: number) => boolean {
  let [values, characters] = [0, 0]
  return (length) => {
    characters += length
    if (++values < valuesTogether && characters < charactersTogether) return false
    values = characters = 0
    return true
  }
}

function* selected(all: readonly Found[], keep: (one: Found) => Steps<boolean>): Steps<readonly Found[]> {
  const kept: Found[] = []
  const pauses = pauseAfter()
  for (const one of all) {
    if (pauses(one.value.length)) yield
    if (yield* keep(one)) kept.push(one)
  }
  return kept
}

function* joined(
  all: readonly Found[],
  form: (text: string) => string,
  formSteps: (text: string) => Steps<string>,
): Steps<string> {
  const [only] = all
  if (only && all.length === 1 && only.value.length <= longText) return form(only.value)
  const forms: string[] = []
  const pauses = pauseAfter()
  for (const one of all) {
    if (pauses(one.value.length)) yield
    forms.push(one.value.length > longText ? yield* formSteps(one.value) : form(one.value))
  }
  return forms.join('\n')
}

const nothing: ReadonlySet<string> = new Set()

/** Returns whether a result only repeats an input of its call. */
function isRepeated(input: Json | undefined, key: string, value: string): boolean {
  const given = isRecord(input) && Object.hasOwn(input, key) ? input[key] : undefined
  return (typeof given === 'string' || typeof given === 'number') && String(given) === value
}

/** Returns the JSON of a result. A text result stays a text unless it parses as JSON. */
function jsonOf(output: ToolOutput): unknown {
  switch (output.type) {
    case 'json':
    case 'error-json':
      return output.value
    case 'text':
    case 'error-text':
      return parsed(output.value)
    case 'execution-denied':
      return output.reason ?? ''
    case 'content':
      return output.value.map((part) =>
        part.type === 'text' ? parsed(part.text) : part.data.type === 'text' ? part.data.text : '',
      )
    default:
      return output satisfies never
  }
}

function parsed(text: string): unknown {
  if (text.length > longestJson || !/^\s*[[{]/.test(text)) return text
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** A list or an object under traversal. */
interface Level {
  readonly value: Readonly<Record<string, unknown>> | readonly unknown[]
  readonly keys: readonly string[] | undefined
  readonly pointer: string
  at: number
}

/** Steps of the longest pointer. Deeper values share the pointer of their ancestor, since tools declare no fields there. */
const deepestPointer = 64

/** Collects every string and number, and every key that is not a plain name: an outsider may write keys too. */
function* collect(root: unknown, label: Label, fields: From['fields']): Steps<readonly Found[]> {
  const found: Found[] = []
  const go = collector(root, label, fields, found)
  while (go()) yield
  return found
}

/** Returns a function that traverses a value in parts and returns whether more is left. */
function collector(root: unknown, label: Label, fields: From['fields'], found: Found[]): () => boolean {
  const open: Level[] = []
  const enter = (value: unknown, pointer: string): void => {
    if (typeof value === 'string' || typeof value === 'number') {
      const own = fieldLabel(fields, pointer) ?? label
      found.push({ pointer, value: String(value), trusted: own.integrity === 'trusted' })
    } else if (Array.isArray(value)) open.push({ value, keys: undefined, pointer, at: 0 })
    else if (isRecord(value)) open.push({ value, keys: Object.keys(value), pointer, at: 0 })
  }
  const below = (pointer: string, step: string): string =>
    open.length > deepestPointer ? pointer : `${pointer}/${step}`
  enter(root, '')
  return () => {
    let looked = 0
    for (let level = open.at(-1); level; level = open.at(-1)) {
      if (++looked > valuesTogether) return true
      const { value, keys, pointer } = level
      const at = level.at++
      if (keys) {
        const key = keys[at]
        if (key === undefined) open.pop()
        else {
          if (!/^[\w-]{1,40}$/.test(key))
            found.push({ pointer: `${pointer}/`, value: key, trusted: label.integrity === 'trusted' })
          enter(isRecord(value) ? value[key] : undefined, below(pointer, escapePointer(key)))
        }
      } else if (Array.isArray(value) && at < value.length) enter(value[at], below(pointer, String(at)))
      else open.pop()
    }
    return false
  }
}

/** Returns the label of the nearest declared field at or above a pointer; `*` matches any one step. */
function fieldLabel(fields: From['fields'], pointer: string): Label | undefined {
  if (!fields) return undefined
  const exact = Object.entries(fields).find(([field]) => field === pointer)
  if (exact) return exact[1]
  let best: { length: number; label: Label } | undefined
  for (const [field, label] of Object.entries(fields)) {
    if (field.length > (best?.length ?? 0) && covers(field.split('/'), pointer.split('/')))
      best = { length: field.length, label }
  }
  return best?.label
}

function* keepLeaves(state: Provenance, source: Source, found: readonly Found[]): Steps<void> {
  const records: Records = new Map()
  for (let at = 0; at < found.length; at += valuesTogether) {
    if (at > 0) yield
    keepSome(state, source, found.slice(at, at + valuesTogether), records)
  }
}

type Records = Map<string, { value: string; systemMade: boolean }[]>

function keepSome(state: Provenance, source: Source, found: readonly Found[], records: Records): void {
  for (const { pointer, value, trusted } of found) {
    if (pointer === '' || value.length > longestLeaf) continue
    const parent = pointer.slice(0, pointer.lastIndexOf('/'))
    let record = records.get(parent)
    if (!record) records.set(parent, (record = []))
    const form = looseForm(value)
    // The items of a plain list do not form a record.
    if (record.length <= mostInRecord && !/\/\d+$/.test(pointer)) record.push({ value: form, systemMade: trusted })
    const leaf: Leaf = { source, pointer, systemMade: trusted, record }
    const known = state.leaves.get(form)
    if (!known) state.leaves.set(form, [leaf])
    else if (known.length < mostPlaces) known.push(leaf)
    const column = columnOf(leaf)
    const values = state.columns.get(column)
    if (values) values.add(form)
    else state.columns.set(column, new Set([form]))
  }
}

/** Values kept per record. A longer list means that the record has values that are not kept. */
export const mostInRecord = 256

/** Returns the column of a value: the tool, and the pointer without row numbers. */
export function columnOf({ source, pointer }: Leaf): string {
  return `${source.name} ${pointer.replaceAll(/\/\d+(?=\/|$)/g, '/*')}`
}

function* shelve(state: Provenance, source: Source): Steps<void> {
  if (source.text.length <= longText) return shelveNow(state, source, wordsOf(source.text))
  const words = [...(yield* distinctWords(yield* looseFormSteps(source.text)))]
  for (let at = 0; at < words.length || at === 0; at += wordsTogether) {
    if (at > 0) yield
    shelveNow(state, source, words.slice(at, at + wordsTogether), at === 0)
  }
}

/** Words that are indexed between two pauses. */
const wordsTogether = 2_048

function shelveNow(state: Provenance, source: Source, words: readonly string[], isFirst = true): void {
  const shelf = source.label.integrity === 'trusted' ? state.trusted : state.untrusted
  if (isFirst) shelf.sources.push(source)
  for (const word of new Set(words)) {
    const known = shelf.byWord.get(word)
    if (!known) shelf.byWord.set(word, [source])
    else known.push(source)
  }
}

function note(state: Provenance, label: Label): void {
  if (label.confidentiality === 'secret') state.secretRead = true
  if (label.integrity === 'untrusted') state.untrustedRead = true
}

/** Reads an approval for the session: the approved values become the user's own, for this tool definition. */
function* readApproval(state: Provenance, { token, value }: EntryOf<'resolved'>): Steps<void> {
  const wait = state.waits.get(token)
  state.waits.delete(token)
  const call = wait?.callId === undefined ? undefined : state.calls.get(wait.callId)
  if (!call || !isRecord(value) || value['decision'] !== 'approve' || value['sticky'] !== 'session') return
  const definition = wait?.about?.definitionHash
  if (definition === undefined || value['propose'] === true) return
  const found = yield* collect(value['args'] ?? call.input, untrustedLabel('approver'), undefined)
  for (const one of found) state.approved.add(approvalKey(call.toolName, definition, one.value))
}

/** Returns the key of an approved value. */
export function approvalKey(toolName: string, definitionHash: string, value: string): string {
  return `${toolName}\n${definitionHash}\n${exactForm(value)}`
}
