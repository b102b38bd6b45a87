import type { MovedKeys, OptionCheck, OptionTable } from '@provost/core'
import { ProvostError, checkChoice, checkOptions, isRecord } from '@provost/core'

/** Returns the check of an option, left out where the option is not given. */
export function given(check: (value: unknown, where: string) => unknown): OptionCheck {
  return (value, _, where) => void (value === undefined || check(value, where))
}

/** Returns the check of an option that has one of these values and has to be given. */
export function required(...choices: readonly unknown[]): OptionCheck {
  return (value, name, where) => checkChoice(value ?? null, choices, name, where)
}

/** Returns the check of an option whose values satisfy a condition, as `undefined` has to where it may be left out. */
export function must(isValid: (value: unknown) => boolean, hint: string): OptionCheck {
  return (value, name, where) => {
    if (!isValid(value)) throw invalidOption(name, where, value, hint)
  }
}

/** Checks a number from 1. NaN, which would mean no limit, is rejected. */
export const atLeastOne: OptionCheck = must(
  (value) => value === undefined || (typeof value === 'number' && value >= 1),
  'Give a number from 1.',
)

/** Checks an integer from 1. */
export const countFromOne: OptionCheck = must(
  (value) => value === undefined || (typeof value === 'number' && Number.isInteger(value) && value >= 1),
  'Give an integer of at least 1.',
)

/** Checks a function that has to be given. */
export const aFunction: OptionCheck = must((value) => typeof value === 'function', 'Give a function.')

/** Returns the error of an option with an invalid value. */
export function invalidOption(name: string, where: string, value: unknown, hint: string): ProvostError {
  const shown = typeof value === 'number' ? String(value) : `of type ${typeof value}`
  return new ProvostError('invalid-option', `The option ${name} of ${where} is ${shown}.`, { hint })
}

/** Returns the check of an option that has options of its own. */
export function nested(table: OptionTable, moved?: MovedKeys): OptionCheck {
  return (value, name, where) => checkOptions(value, table, `"${name}" of ${where}`, moved)
}

/** Returns the check of a list of objects. */
export function listOf(
  table: OptionTable | ((item: unknown) => OptionTable),
  moved?: MovedKeys,
  more?: (item: Readonly<Record<string, unknown>>, where: string) => void,
): OptionCheck {
  return (value, name, where) => {
    for (const [index, item] of itemsOf(value, name, where).entries()) {
      const its = `${name}[${index}] of ${where}`
      checkOptions(item, typeof table === 'function' ? table(item) : table, its, moved)
      if (isRecord(item)) more?.(item, its)
    }
  }
}

/** Returns the items of a list, none where it is not given. @throws ProvostError `invalid-options` for another value. */
export function itemsOf(value: unknown, name: string, where: string): readonly unknown[] {
  if (value === undefined) return []
  if (Array.isArray(value)) return value
  throw new ProvostError('invalid-options', `"${name}" of ${where} is not a list.`, { hint: `Write ${name}: [ … ].` })
}

/** Returns the check of an object whose `kind` selects its options. A kind in `named` may be given by its name. */
export function ofKind(tables: Readonly<Record<string, OptionTable>>, ...named: readonly string[]): OptionCheck {
  return (value, name, where) => {
    if (named.length > 0 && typeof value === 'string') return checkChoice(value, named, name, where)
    const { kind = null }: Record<string, unknown> = isRecord(value) ? value : {}
    const its = `"${name}" of ${where}`
    checkChoice(kind, Object.keys(tables), 'kind', its)
    checkOptions(value, tables[String(kind)] ?? {}, its)
  }
}
