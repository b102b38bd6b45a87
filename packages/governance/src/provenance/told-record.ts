import { holds, looseForm } from '../wording/exact-form.ts'
import type { Leaf } from './leaf.ts'
import { longestTelling } from './leaf.ts'
import type { Provenance } from './provenance-state.ts'
import { sourcesWith } from './source.ts'

/**
 * Returns whether an untrusted text mentions a record, by its number or by a value that only this record has. The record's
 * own texts and its key count only if they mention its number.
 */
export function isTold(
  { record, pointer }: Pick<Leaf, 'record' | 'pointer'>,
  value: string,
  { leaves, untrusted }: Provenance,
): boolean {
  const own = new Set(record.map((one) => one.value))
  for (const step of pointer.split('/')) own.add(looseForm(step.replaceAll('~1', '/').replaceAll('~0', '~')))
  const id = looseForm(value)
  const isIts = (one: string): boolean =>
    one.length >= 6 &&
    one.length <= longestTelling &&
    /\p{L}/u.test(one) &&
    (leaves.get(one) ?? []).every((leaf) => leaf.record.some((other) => other.value === id))
  const names = new Set(record.map((one) => one.value).filter(isIts))
  return [id, ...names].some((one) =>
    sourcesWith(untrusted, one).some(({ text }) =>
      text
        .split('\n')
        .some((line) => line.length > one.length && (one === id || !own.has(line)) && speaksOf(line, one)),
    ),
  )
}

/** Returns whether an untrusted text mentions a value. A line that is only the value does not count. */
export function isMentioned(value: string, { untrusted }: Provenance): boolean {
  const form = looseForm(value)
  return sourcesWith(untrusted, form).some(({ text }) =>
    text.split('\n').some((line) => line.length > form.length && holds(line, form)),
  )
}

/** Returns whether a line mentions a value. A short number needs a word such as `id` or `no.` before it. */
function speaksOf(line: string, value: string): boolean {
  if (!/^\d{1,4}$/.test(value)) return holds(line, value)
  return new RegExp(
    `(?:\\bids?|#|\\bn[or]\\.?|number|nummer|n[uú]mero|رقم|号|編號|编号)[\\s:="'“‘_-]{0,4}${value}(?!\\d)`,
    'u',
  ).test(line)
}
