import type { Json, Label, Steps, ToolOutput } from '@provost/core'
import { isRecord, trustedLabel } from '@provost/core'

import { longText } from '../text/long-text.ts'
import { exactForm, exactFormSteps, includes, looseForm, looseFormSteps } from '../wording/exact-form.ts'
import { roleOfName } from './argument-role.ts'
import { keepLeaves } from './leaf.ts'
import type { FieldLabels, OutputValue } from './output-value.ts'
import { collect, collector, jsonOf, pauseAfter } from './output-value.ts'
import type { OpenCall, Provenance } from './provenance-state.ts'
import { noteLabel } from './provenance-state.ts'
import type { Source, SourcePlace } from './source.ts'
import { shelve } from './source.ts'

/** What is known of an output beside its label. */
interface ResultContext {
  readonly fields?: FieldLabels
  readonly call?: OpenCall | undefined
  readonly place?: SourcePlace | undefined
}

/**
 * Adds the output of a tool to the state.
 *
 * @returns the values of the output in loose form if a composite receives them, else an empty list.
 */
export function* addOutput(
  state: Provenance,
  toolName: string,
  output: ToolOutput,
  label: Label,
  from: ResultContext = {},
): Steps<readonly string[]> {
  noteLabel(state, label)
  const all: OutputValue[] = []
  const go = collector(jsonOf(output), label, from.fields, all)
  while (go()) yield
  // A value that a composite returns unchanged was already read with its nested result, under that label.
  const told = from.call?.nestedValues
  const found = told
    ? yield* selected(all, function* (one) {
        return !told.has(yield* looseFormSteps(one.value))
      })
    : all
  const inputText = from.call ? yield* exactFormSteps(JSON.stringify(from.call.input)) : ''
  const wholeValues = new Set<string>()
  const trusted: OutputValue[] = []
  const untrusted: OutputValue[] = []
  const pauses = pauseAfter()
  for (const one of found) {
    if (pauses(one.value.length)) yield
    if (one.trusted) trusted.push(one)
    else untrusted.push(one)
    const key = one.pointer.slice(one.pointer.lastIndexOf('/') + 1)
    if (one.trusted && one.pointer !== '' && !isRepeated(from.call?.input, key, one.value))
      wholeValues.add(one.value.length > longText ? yield* exactFormSteps(one.value) : exactForm(one.value))
  }
  const call = from.call && { toolName: from.call.toolName, input: from.call.input }
  const { place } = from
  const addresses = yield* confirmedAddresses(trusted, from.call?.input)
  const common = {
    ...{ name: toolName, label, inputText, wholeValues, addresses },
    ...(call && { call }),
    ...(place && { place }),
  }
  if (label.integrity === 'trusted' && trusted.length > 0) {
    yield* shelve(state.trusted, { ...common, text: yield* joined(trusted, exactForm, exactFormSteps) })
    for (const one of trusted) {
      if (pauses(one.value.length)) yield
      const form = one.value.length > longText ? yield* exactFormSteps(one.value) : exactForm(one.value)
      if (!includes(inputText, form)) yield* state.index.inSteps.exempt(one.value)
    }
  }
  if (untrusted.length > 0 || label.integrity === 'untrusted') {
    const untrustedLabel: Label = { ...label, integrity: 'untrusted' }
    const source: Source = {
      ...common,
      label: untrustedLabel,
      text: yield* joined(untrusted, looseForm, looseFormSteps),
    }
    state.untrustedRead = true
    yield* shelve(state.untrusted, source)
    for (const one of untrusted) {
      if (pauses(one.value.length)) yield
      const origin = { source: label.sources[0] ?? toolName, label: untrustedLabel }
      if (one.value.length > longText) yield* state.index.inSteps.add(one.value, origin)
      else state.index.add(one.value, origin)
    }
    yield* keepLeaves(state, source, found)
  }
  if (from.call?.parentCallId === undefined) return []
  const forms: string[] = []
  for (const one of all) {
    if (pauses(one.value.length)) yield
    forms.push(one.value.length > longText ? yield* looseFormSteps(one.value) : looseForm(one.value))
  }
  return forms
}

/** Returns the values for which `keep` returns true. */
function* selected(
  all: readonly OutputValue[],
  keep: (one: OutputValue) => Steps<boolean>,
): Steps<readonly OutputValue[]> {
  const kept: OutputValue[] = []
  const pauses = pauseAfter()
  for (const one of all) {
    if (pauses(one.value.length)) yield
    if (yield* keep(one)) kept.push(one)
  }
  return kept
}

/** Returns the forms of the values, one a line. */
function* joined(
  all: readonly OutputValue[],
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

/** Characters of the longest address. */
const longestAddress = 300

/** Returns the addresses of a call's input that its result confirms: the record has another value beside the address. */
function* confirmedAddresses(found: readonly OutputValue[], input: Json | undefined): Steps<ReadonlySet<string>> {
  if (input === undefined) return none
  const asked = new Set<string>()
  for (const { value } of yield* collect(input, trustedLabel, undefined))
    if (value.length <= longestAddress) asked.add(exactForm(value))
  const isGiven = ({ value }: OutputValue): boolean => value.length <= longestAddress && asked.has(exactForm(value))
  const recordOf = ({ pointer }: OutputValue): string => pointer.slice(0, pointer.lastIndexOf('/'))
  const given = found.filter(
    (one) => roleOfName(one.pointer.slice(one.pointer.lastIndexOf('/') + 1)) === 'destination' && isGiven(one),
  )
  if (given.length === 0) return none
  const records = new Set(given.map(recordOf))
  const telling = new Set(found.filter((one) => records.has(recordOf(one)) && !isGiven(one)).map(recordOf))
  return new Set(given.filter((one) => telling.has(recordOf(one))).map(({ value }) => exactForm(value)))
}

const none: ReadonlySet<string> = new Set()

/** Returns whether a result only repeats an input of its call. */
function isRepeated(input: Json | undefined, key: string, value: string): boolean {
  const argument = isRecord(input) && Object.hasOwn(input, key) ? input[key] : undefined
  return (typeof argument === 'string' || typeof argument === 'number') && String(argument) === value
}
