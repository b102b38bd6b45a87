import type { Entry, EntryOf, Fold, Json, Message, Steps } from '@provost/core'
import {
  assertNever,
  fillLabel,
  finish,
  isRecord,
  labelOf,
  opensCalls,
  purposeOf,
  textOf,
  toJson,
  trustedLabel,
  untrustedLabel,
} from '@provost/core'

import { exactForm, exactFormSteps, looseForm, looseFormSteps } from '../wording/exact-form.ts'
import { mostInRecord } from './leaf.ts'
import { collect, longestJson } from './output-value.ts'
import type { Provenance } from './provenance-state.ts'
import { approvalKey, emptyProvenance, noteLabel } from './provenance-state.ts'
import { addOutput } from './read-output.ts'
import { shelve, sourcesWith } from './source.ts'
import type { SourcePlace } from './source.ts'
import { isMentioned, isTold } from './told-record.ts'

/**
 * Folds a log into what its session has read. The state grows in place: each reader of a log starts empty and keeps a
 * state of its own.
 */
export const provenanceFold: Fold<Provenance | undefined> = {
  key: 'governance/provenance',
  initial: undefined,
  apply: (state = emptyProvenance(), entry) => finish(readInto(state, entry)),
  steps: (state = emptyProvenance(), entry) => readInto(state, entry),
}

function* readInto(state: Provenance, entry: Entry): Steps<Provenance> {
  yield* read(state, entry)
  return state
}

function* read(state: Provenance, entry: Entry): Steps<void> {
  switch (entry.type) {
    case 'message':
      if (opensCalls(entry)) yield* readAnswer(state, entry)
      else yield* readMessage(state, entry.message, entry, purposeOf(entry) === 'handoff-note')
      break
    case 'view':
      for (const message of entry.with) yield* readMessage(state, message, entry)
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
    case 'child':
      if (entry.op === 'spawned') noteChild(state, entry)
      break
    case 'handoff':
      if (entry.denied === undefined) state.handoffs.push({ to: entry.to, entry: placeOf(entry) })
      break
    case 'run':
      if (entry.op === 'started') state.approvedNow.clear()
      break
    case 'attempt':
    case 'tail':
    case 'memo':
    case 'ext':
    case 'audit':
      break
    default:
      assertNever(entry)
  }
}

function placeOf({ id, offset, runId, agent }: Entry): SourcePlace['entry'] {
  return { id, offset, runId, agent }
}

/** Children of one call that are kept: of more, none is known to have returned a value. */
const mostChildren = 2

function noteChild(
  { children }: Provenance,
  { callId, parentCallId = callId, agent }: EntryOf<'child', 'spawned'>,
): void {
  const known = children.get(parentCallId) ?? []
  if (known.length < mostChildren) known.push({ agent, run: callId })
  children.set(parentCallId, known)
}

/** Reads an answer of the model, or a call of an orchestrator. */
function* readAnswer(state: Provenance, entry: EntryOf<'message'>): Steps<void> {
  const { message } = entry
  for (const part of message.content) {
    if (part.type === 'tool-call') {
      const { callId, toolName, input } = part
      const clean = labelOf(message).integrity === 'trusted'
      state.calls.set(callId, { toolName, input, clean })
      yield* keepChoices(state, input, clean)
    }
    // The result of a provider's own tool comes from outside and has no separate entry.
    if (part.type === 'tool-result')
      yield* addOutput(state, part.toolName, part.output, labelOf({ role: 'tool', content: [part] }), {
        place: { entry: placeOf(entry), content: part.output, callId: part.callId },
      })
  }
}

/** Characters of the longest value that is kept, and values that are kept. */
const longestClean = 300
const mostClean = 10_000

/** Returns whether a trusted result has a value that is a key. */
function isTrustedKey({ trusted }: Provenance, value: string): boolean {
  return value.length <= 64 && /\d/.test(value) && sourcesWith(trusted, exactForm(value)).length > 0
}

/** Keeps the values of a call that no outsider can have chosen: no untrusted content was read, or none tells of the record. */
function* keepChoices(state: Provenance, input: Json, clean: boolean): Steps<void> {
  for (const { value } of yield* collect(input, trustedLabel, undefined)) {
    if (value.length > longestClean) continue
    if (clean && state.cleanValues.size < mostClean) state.cleanValues.add(exactForm(value))
    if (clean || state.chosen.size >= mostClean) continue
    const key = looseForm(value)
    const leaves = (state.leaves.get(key) ?? []).filter(({ systemMade }) => systemMade)
    const isFree = leaves.some((leaf) => leaf.record.length <= mostInRecord && !isTold(leaf, value, state))
    if (isFree || (isTrustedKey(state, value) && !isMentioned(value, state))) state.chosen.add(key)
    yield
  }
}

function* readMessage(state: Provenance, message: Message, entry: Entry, isNote = false): Steps<void> {
  const { role, content } = message
  const label = labelOf(message)
  for (const part of content) {
    if (part.type !== 'tool-result') continue
    yield* addOutput(state, part.toolName, part.output, fillLabel(part.label, label), {
      fields: part.fields,
      place: { entry: placeOf(entry), content: part.output, callId: part.callId },
    })
  }
  const text = textOf(message)
  if (text === '') return
  if (label.integrity === 'untrusted') {
    noteLabel(state, label)
    yield* shelve(state.untrusted, {
      ...{
        name: label.sources[0] ?? role,
        label,
        text: yield* looseFormSteps(text),
        inputText: '',
        wholeValues: nothing,
      },
      ...(isNote && { isNote }),
      place: { entry: placeOf(entry), content: text, isInput: true },
    })
    yield* state.index.inSteps.add(text, { source: label.sources[0] ?? role, label })
  } else {
    // The user's messages are found in the intent; other trusted messages are instructions.
    if (role !== 'user') {
      const form = yield* exactFormSteps(text)
      yield* shelve(state.trusted, { name: role, label, text: form, inputText: '', wholeValues: nothing })
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
  if (parent && !parent.nestedValues) {
    parent.nestedValues = new Set()
    if (parent.clean) {
      const found = yield* collect(parent.input, trustedLabel, undefined)
      state.cleanInputs.push(found.flatMap(({ value }) => literalsOf(value)).join('\n'))
    }
  }
  state.calls.set(callId, { toolName, input: args, parentCallId })
}

/** Matches a quoted text up to the end of its line, a template that may span lines, or a number. */
const literal = /(['"])((?:(?!\1)[^\\\n]|\\.)*)\1?|`((?:[^`\\]|\\.)*)`?|(?<![\w$.])\d[\d_]*(?:\.\d+)?/gs

/** Returns the literals of a composite's input value if it is code, else the value itself. */
function literalsOf(value: string): readonly string[] {
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
  const told = yield* addOutput(state, call?.toolName ?? 'tool', entry.output, label, {
    fields: entry.fields,
    call,
    place: { entry: placeOf(entry), content: entry.output, callId: entry.callId },
  })
  const parent = call?.parentCallId === undefined ? undefined : state.calls.get(call.parentCallId)
  for (const value of told) parent?.nestedValues?.add(value)
}

/** The `wholes` of a message: only tool results are lookups. */
const nothing: ReadonlySet<string> = new Set()

/**
 * Reads an approval. Its values are approved for the run. If it is for the session, they are the user's own in calls of
 * the same tool definition with the same arguments.
 */
function* readApproval(state: Provenance, { token, value }: EntryOf<'resolved'>): Steps<void> {
  const wait = state.waits.get(token)
  state.waits.delete(token)
  const call = wait?.callId === undefined ? undefined : state.calls.get(wait.callId)
  if (!call || !isRecord(value) || value['decision'] !== 'approve' || value['propose'] === true) return
  const input = value['args'] === undefined ? call.input : toJson(value['args'])
  for (const one of yield* collect(input, untrustedLabel('approver'), undefined))
    if (one.value.length <= longestClean && state.approvedNow.size < mostClean)
      state.approvedNow.add(exactForm(one.value))
  const definition = wait?.about?.definitionHash
  if (definition === undefined || value['sticky'] !== 'session') return
  state.approved.add(approvalKey(call.toolName, definition, input))
}
