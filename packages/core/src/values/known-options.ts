import { ProvostError } from './error.ts'
import { isRecord } from './json.ts'

/** The keys of an object type, of each member where it is a union. */
export type KeysOf<T> = T extends unknown ? keyof T : never

/**
 * Checks the value of an option; `undefined` where it is not given.
 *
 * @throws ProvostError for an invalid value.
 */
export type OptionCheck = (value: unknown, name: string, where: string) => void

/** Options by name: `true` accepts every value. */
export type OptionTable = Readonly<Record<string, true | OptionCheck>>

/**
 * Names that an object may have. Written as `{ … } satisfies KnownKeys<Options>`, it is complete: a missing or an extra
 * name is a compile error.
 */
export type KnownKeys<T> = Readonly<Record<KeysOf<T>, true>>

/** The same, with the checks of values. */
export type CheckedKeys<T> = Readonly<Record<KeysOf<T>, true | OptionCheck>>

/** For option names of other runtimes, one sentence that says what to do instead. */
export type MovedKeys = Readonly<Record<string, string>>

const mostShown = 5
const longestName = 80

/**
 * Rejects unknown option names, and values that their checks reject. `undefined` as options, and unknown options with the
 * value `undefined`, are accepted.
 *
 * @param where the function or object that takes the options, for the message: `createAgent`.
 * @param moved what to do instead of names that other runtimes use. A name may also be one that every object has.
 * @throws ProvostError `unknown-option`, with the nearest name or the place of the option; `invalid-options` for options
 *   that are not an object; the errors of the checks.
 *
 * @example
 * const known = { tokens: true, cost: true } satisfies KnownKeys<Limits>
 * checkOptions(limits, known, 'budget') // { token: 5 }: Unknown option "token" in budget. Did you mean "tokens"?
 */
export function checkOptions(options: unknown, known: OptionTable, where: string, moved: MovedKeys = {}): void {
  if (options === undefined) return
  if (!isRecord(options)) {
    throw new ProvostError('invalid-options', `${where} takes its options as an object, not ${shownValue(options)}.`, {
      hint: listed(known),
    })
  }
  const unknown = Object.keys(options).filter((name) => !Object.hasOwn(known, name) && options[name] !== undefined)
  if (unknown.length > 0) {
    const messages = unknown
      .slice(0, mostShown)
      .map((name) => `${refusal(name, where)} ${remedy(name, known, moved)}`.trim())
    throw new ProvostError('unknown-option', messages.join(' '), { hint: listed(known) })
  }
  for (const [name, check] of Object.entries(known)) {
    if (check !== true) check(options[name], name, where)
  }
}

/** Returns the check of an option that has one of these values. `undefined` selects the default. */
export function oneOf(...choices: readonly unknown[]): OptionCheck {
  return (value, name, where) => checkChoice(value, choices, name, where)
}

/**
 * Rejects a value that is not one of the choices of an option. `undefined` selects the default.
 *
 * @throws ProvostError `invalid-option`
 *
 * @example
 * checkChoice(sync, ['calls', 'always'], 'sync', 'sqliteStore')
 */
export function checkChoice(word: unknown, choices: readonly unknown[], option: string, where: string): void {
  if (word === undefined || choices.includes(word)) return
  throw new ProvostError('invalid-option', `The option ${option} of ${where} is ${shownWord(word)}.`, {
    hint: `Give ${choices.map(shownWord).join(', ')}.`,
  })
}

function shownWord(word: unknown): string {
  if (typeof word === 'string') return `'${word.slice(0, longestName)}'`
  return typeof word === 'object' && word !== null ? shownValue(word) : String(word).slice(0, longestName)
}

function refusal(name: string, where: string): string {
  return `Unknown option ${JSON.stringify(name.slice(0, longestName))} in ${where}.`
}

function remedy(name: string, known: OptionTable, moved: MovedKeys): string {
  const place = Object.hasOwn(moved, name) ? moved[name] : undefined
  if (place !== undefined) return place
  const near = nearestName(name, Object.keys(known))
  return near === undefined ? '' : `Did you mean ${JSON.stringify(near)}?`
}

function listed(known: OptionTable): string {
  const names = Object.keys(known)
  return names.length === 0 ? 'It takes no options.' : `The options are ${names.join(', ')}.`
}

function shownValue(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'a list' : `${typeof value === 'object' ? 'an' : 'a'} ${typeof value}`
}

/** Returns the known name that is closest to a misspelt one; undefined where none is close. */
export function nearestName(name: string, names: readonly string[]): string | undefined {
  const plain = plainName(name)
  let best: { readonly name: string; readonly distance: number } | undefined
  for (const one of names) {
    const distance = editDistance(plain, plainName(one))
    if (!best || distance < best.distance) best = { name: one, distance }
  }
  return best && best.distance <= Math.max(1, Math.floor(plain.length / 3)) ? best.name : undefined
}

/** `max_steps` and `MaxSteps` are `maxSteps`. */
function plainName(name: string): string {
  return name
    .slice(0, longestName)
    .replaceAll(/[\s_-]/g, '')
    .toLowerCase()
}

/** Letters to add, remove, replace or swap with their neighbour (optimal string alignment). */
function editDistance(a: string, b: string): number {
  let [before, last] = [[] as number[], Array.from({ length: b.length + 1 }, (_, at) => at)]
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1]
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      row.push(
        Math.min(
          (last[j] ?? 0) + 1,
          (row[j - 1] ?? 0) + 1,
          (last[j - 1] ?? 0) + (same ? 0 : 1),
          swapped ? (before[j - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
        ),
      )
    }
    ;[before, last] = [last, row]
  }
  return last[b.length] ?? 0
}
