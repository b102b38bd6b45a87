import type { ToolInfo } from '@provost/core'

import { exactForm, looseForm } from '../wording/exact-form.ts'
import { isSecretName, keyWords, roleValuesOf } from './argument-role.ts'
import type { TracedValue } from './data-flow-rule.ts'
import type { Knowledge } from './origin.ts'
import { isClean, isKey, isOwn, isRecordTold } from './origin.ts'
import type { Source } from './source.ts'

/** Sources that are looked at for one call. A longer chain leads nowhere that the user had in mind. */
const mostSources = 512
/** Lookups from the user's words to a record. */
const mostLookups = 16

/** What is known of sources while one call is judged. */
interface Lookups {
  readonly reached: Map<Source, boolean>
  left: number
}

const lookups = new WeakMap<Knowledge, Lookups>()

/**
 * Returns whether lookups lead from the user's words to a source: the user gave what it was looked up by, or that was a
 * whole value of such a source. `Ann Lee, 10001` leads to a customer, the customer to orders, an order to its items.
 *
 * Sources from outside are not reached: pages, tools of remote servers, and lists of everything.
 */
function isReached(source: Source, known: Knowledge): boolean {
  let state = lookups.get(known)
  if (!state) lookups.set(known, (state = { reached: new Map(), left: mostSources }))
  return leadsTo(source, known, state, mostLookups)
}

function leadsTo(source: Source, known: Knowledge, state: Lookups, depth: number): boolean {
  const before = state.reached.get(source)
  if (before !== undefined) return before
  // A source that is being looked at does not reach itself.
  state.reached.set(source, false)
  if (depth === 0 || --state.left < 0) return false
  const { call } = source
  const tool = call && known.tools.get(call.toolName)
  if (!tool || tool.set !== undefined || tool.effect === 'egress') return false
  const keys = roleValuesOf({ input: call.input, tool }).filter(
    ({ role }) => role === 'selector' || role === 'destination',
  )
  const found =
    keys.length <= mostKeys &&
    keys.some(({ guessed }) => !guessed) &&
    keys.every(
      ({ value }) =>
        isOwn(exactForm(value), known) ||
        isClean(exactForm(value), known) ||
        (known.provenance.leaves.get(looseForm(value)) ?? []).some(
          (leaf) => leaf.source !== source && leadsTo(leaf.source, known, state, depth - 1),
        ),
    )
  state.reached.set(source, found)
  return found
}

/** Keys of the largest lookup. */
const mostKeys = 64

/**
 * Returns whether a value is the key of a record that the user's words lead to, for a tool that writes inside the system.
 * A text that mentions the record may have chosen it.
 */
export function isOfReachedRecord(tool: ToolInfo, { origin, value }: TracedValue, known: Knowledge): boolean {
  return (
    origin.kind === 'value' &&
    tool.effect === 'write' &&
    isKey(value) &&
    origin.leaves.some((leaf) => isReached(leaf.source, known) && !isRecordTold(leaf, value, known))
  )
}

/**
 * Returns whether a value is identity data that a tool inside the system may write: a field of the same name in a record
 * that the user's words lead to, such as the `zip` of the user's profile, or a code of a state or a country that completes
 * what the user gave. Passwords and codes are none.
 */
export function isIdentityData(
  tool: ToolInfo,
  { origin, path, value }: TracedValue,
  all: readonly TracedValue[],
  known: Knowledge,
): boolean {
  const name = nameIn(path)
  if (tool.effect !== 'write' || isSecretName(name)) return false
  if (origin.kind === 'value')
    return origin.leaves.some((leaf) => nameIn(leaf.pointer) === name && isReached(leaf.source, known))
  const given = all.some((other) => other.role === 'credential' && other.value !== '' && other.origin.kind === 'own')
  return origin.kind === 'nowhere' && given && /^\p{L}{2,3}$/u.test(value)
}

/** Returns the last name in a pointer, whichever way its words are joined. */
function nameIn(pointer: string): string {
  const last = pointer.split('/').findLast((step) => !/^\d+$/.test(step)) ?? ''
  return keyWords(last).join(' ')
}
