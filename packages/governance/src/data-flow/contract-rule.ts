import type { Json } from '@provost/core'
import { toJson } from '@provost/core'

import { brief, differenceOf, evidenceOf, grantsOf, shown } from '../evidence/decision-evidence.ts'
import { switchesIn } from '../provenance/argument-role.ts'
import { allowedCalls } from '../provenance/contract.ts'
import type { Grant, Prohibition } from '../provenance/contract.ts'
import type { Sink, TracedValue } from '../provenance/data-flow-rule.ts'
import { isDesignated } from '../provenance/origin.ts'
import type { Knowledge } from '../provenance/origin.ts'
import { longText } from '../text/long-text.ts'
import { exactForm, holds, looseForm, wordsOf } from '../wording/exact-form.ts'
import { yearsIn } from '../wording/year.ts'
import { isFetch, isTainted } from './intent-preset.ts'
import { onlyFetches } from './issued-value.ts'

/** Why a call exceeds the contract, and the clause that comes nearest. */
export interface Excess {
  readonly reason: string
  readonly evidence: { readonly [key: string]: Json }
}

/**
 * Returns why a call exceeds the contract of its turn, or undefined. What the user excluded always counts. The rest
 * counts once an outsider may have caused the call. A missing grant is left to the rule `intent`.
 */
export function excessOf(sink: Sink): Excess | undefined {
  if (!sink.contract) return undefined
  const excluded = prohibitionOf(sink)
  if (excluded) {
    return {
      reason: `the user excluded ${sink.call.tool.name}: “${brief(excluded.because)}”`,
      evidence: differenceOf(sink, { clause: excluded.because, differs: 'excluded' }),
    }
  }
  if (!isTainted(sink)) return undefined
  return (
    tooManyCalls(sink) ??
    repeatedCall(sink) ??
    furtherCall(sink) ??
    otherValue(sink) ??
    otherAmount(sink) ??
    otherDetail(sink) ??
    unknownYear(sink)
  )
}

/** Returns the prohibition that a call violates. */
export function prohibitionOf({ contract, call, values }: Sink): Prohibition | undefined {
  return contract?.contract.forbidden.find(
    ({ tool, values: excluded }) =>
      tool === call.tool.name &&
      (excluded.length === 0 ||
        excluded.some((one) => values.some(({ value }) => holds(exactForm(value), one) || one === exactForm(value)))),
  )
}

function tooManyCalls(sink: Sink): Excess | undefined {
  const grants = grantsOf(sink)
  const allowed = allowedCalls(grants)
  const used = sink.contract?.used ?? 0
  if (grants.length === 0 || used < allowed || sink.known.isApproved) return undefined
  return {
    reason: `the user asked for ${allowed === 1 ? 'one call' : `${allowed} calls`} of ${sink.call.tool.name}, and this is call ${used + 1}`,
    evidence: differenceOf(sink, { differs: `call ${used + 1} of ${allowed}` }),
  }
}

/** Judges the same call again: it does what was done, twice. */
function repeatedCall(sink: Sink): Excess | undefined {
  const { contract, call, known, values } = sink
  const same = contract?.same ?? 0
  if (same === 0 || known.isApproved || isFetch({ values })) return undefined
  if (onlyFetches(call.tool)) return undefined
  return {
    reason: `the agent has called ${call.tool.name} with the same arguments before`,
    evidence: differenceOf(sink, { differs: `call ${same + 1} with the same arguments` }),
  }
}

/**
 * Judges a further call with the same targets: it pays once more, or changes what was done. The amounts, times and flags
 * that the user wrote pass.
 */
function furtherCall(sink: Sink): Excess | undefined {
  const { contract, call, known, values } = sink
  if (!contract || contract.toTargets === 0 || known.isApproved || isFetch({ values })) return undefined
  const changed = values.find(
    ({ role, value, origin }) =>
      (role === 'amount' && !contract.contract.amounts.includes(Number(value))) ||
      (contract.hasOtherDetails && (role === 'time' || role === 'flag') && origin.kind !== 'own'),
  )
  if (changed) return excessBy(sink, changed, `is a further one for the same target: call ${contract.toTargets + 1}`)
  const [first] = contract.hasOtherSwitches ? switchesIn(toJson(call.input)) : []
  if (!first) return undefined
  const differs = `${first[0]} or another setting differs from the call before`
  return {
    reason: `${call.tool.name}: a further call for the same target has other settings`,
    evidence: differenceOf(sink, { differs }),
  }
}

/** Judges arguments that the contract limits to values of the turn. */
function otherValue(sink: Sink): Excess | undefined {
  const grants = grantsOf(sink)
  const fits = (grant: Grant): TracedValue | undefined =>
    sink.values.find(({ path, value }) => {
      const allowed = grant.args[path] ?? grant.args[`/${path.split('/')[1] ?? ''}`]
      return allowed !== undefined && !allowed.some((one) => exactForm(String(one)) === exactForm(value))
    })
  const others = grants.map(fits)
  const [first] = others
  if (!first || others.includes(undefined)) return undefined
  return excessBy(sink, first, 'is none of the values that the user gave')
}

/** Judges amounts: the user's numbers pass, and computed ones up to the largest amount that is known for the record. */
function otherAmount(sink: Sink): Excess | undefined {
  const { contract } = sink
  if (!contract) return undefined
  for (const one of sink.values) {
    if (one.role !== 'amount' || isVouched(one)) continue
    const number = Number(one.value)
    if (number === 0 || number === 1 || contract.contract.amounts.includes(number)) continue
    if (!contract.contract.computes) return excessBy(sink, one, 'is not an amount that the user gave')
    if (isFromDesignated(sink, one)) continue
    if (one.origin.kind === 'prose') return excessBy(sink, one, 'is an amount from a text by a third party')
    // An increase is the sum of two known amounts.
    const given = Math.max(0, ...contract.contract.amounts, ...designatedAmounts(sink))
    const bound = given + Math.max(0, ...recordedAmounts(sink))
    if (!(Math.abs(number) <= bound)) return excessBy(sink, one, 'is larger than any amount that the user named')
  }
  return undefined
}

/** Leaves that are searched for records that the user named. */
const mostSearched = 5_000

/**
 * Returns the amounts that are known for what the user named: the numbers in records of the call's targets, and in
 * records with a name that the user wrote.
 */
function recordedAmounts({ values, known }: Sink): readonly number[] {
  const { leaves, trusted } = known.provenance
  const numbers: number[] = []
  const add = (texts: readonly string[]): void => {
    for (const text of texts) if (isAmount.test(text)) numbers.push(Math.abs(Number(text)))
  }
  for (const { role, value } of values) {
    if (role !== 'destination' && role !== 'selector') continue
    for (const { record } of leaves.get(looseForm(value)) ?? []) add(record.map((other) => other.value))
    for (const { text } of trusted.byWord.get(looseForm(value)) ?? [])
      if (text.length <= longText) add(text.split('\n'))
  }
  let left = mostSearched
  for (const [value, places] of leaves) {
    if (--left < 0) break
    if (wordsOf(value).some((word) => known.userNames.has(word)))
      for (const { record } of places) add(record.map((other) => other.value))
  }
  return numbers
}

const isAmount = /^-?\d{1,9}(?:\.\d{1,9})?$/

/** Returns the numbers in texts that the user pointed at: what the user asked to apply to a recorded amount. */
function designatedAmounts({ known }: Sink): readonly number[] {
  const texts = known.provenance.untrusted.sources.filter(
    (source) => source.text.length <= longText && isDesignated(source, known),
  )
  return texts.flatMap(({ text }) =>
    (text.match(/(?<![\p{L}\p{N}.])\d{1,9}(?:\.\d{1,9})?(?!\p{N})/gu) ?? []).map(Number),
  )
}

/** Judges times and flags: an outsider's text may not choose them. */
function otherDetail(sink: Sink): Excess | undefined {
  for (const one of sink.values) {
    if (one.role !== 'time' && one.role !== 'flag') continue
    if (isVouched(one) || one.origin.kind === 'nowhere' || isFromDesignated(sink, one)) continue
    return excessBy(sink, one, 'comes from a text by a third party')
  }
  return undefined
}

/**
 * Judges the year of a time: the present one, those beside it, and years that the user, a trusted text or a source of the
 * user's named. A date in another year comes from an untrusted text, or from nowhere.
 */
function unknownYear(sink: Sink): Excess | undefined {
  for (const one of sink.values) {
    if (one.role !== 'time' || isVouched(one) || isFromDesignated(sink, one)) continue
    const year = yearsIn(one.value).find((named) => !isKnownYear(named, sink.known))
    if (year !== undefined) return excessBy(sink, one, `is in ${year}, a year that no trusted text named`)
  }
  return undefined
}

function isKnownYear(year: number, known: Knowledge): boolean {
  if (Math.abs(year - known.year) <= 1) return true
  const word = String(year)
  const { trusted, untrusted, leaves } = known.provenance
  if ([known.instructions, ...known.userTexts, ...known.confirmed].some((text) => yearsIn(text).includes(year)))
    return true
  if (trusted.byWord.has(word)) return true
  if (untrusted.byWord.get(word)?.some((source) => isDesignated(source, known)) === true) return true
  let left = mostSearched
  for (const [value, places] of leaves) {
    if (--left < 0) return false
    if (value.length <= longestDate && value.includes(word) && places.some(({ systemMade }) => systemMade)) return true
  }
  return false
}

/** Characters of the longest value that counts as a date. */
const longestDate = 64

function isVouched({ origin }: TracedValue): boolean {
  return origin.kind === 'own' || origin.kind === 'trusted' || origin.kind === 'field'
}

function isFromDesignated({ known }: Sink, { origin }: TracedValue): boolean {
  const sources =
    'sources' in origin ? origin.sources : 'leaves' in origin ? origin.leaves.map(({ source }) => source) : []
  return sources.some((source) => isDesignated(source, known))
}

function excessBy(sink: Sink, one: TracedValue, differs: string): Excess {
  return {
    reason: `${sink.call.tool.name}: the ${one.role} “${shown(one).value ?? one.path}” ${differs}`,
    evidence: { ...evidenceOf(sink, one), ...differenceOf(sink, { differs: `${one.path} ${differs}` }) },
  }
}
