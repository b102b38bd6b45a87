import { ProvostError } from './error.ts'
import { isRecord } from './json.ts'

const nouns = {
  text: 'a text',
  number: 'a number',
  object: 'an object',
  list: 'a list',
  objects: 'a list of objects',
  position: 'the numbers { after, fence }',
  bytes: 'a Uint8Array',
  entries: 'the entries of a log',
  message: 'a message { role, content }',
  state: 'the state of a session',
  function: 'a function',
  any: 'a value',
} as const

/** What an argument has to be. With `?` it may be left out. */
export type ArgumentKind = keyof typeof nouns | `${keyof typeof nouns}?`

const places = ['first', 'second', 'third', 'fourth']

/** @returns the error for the first argument of a wrong type; undefined if all fit. */
function faultOf(where: string, args: readonly unknown[], kinds: readonly ArgumentKind[]): ProvostError | undefined {
  // Stores check the arguments of every append, so this costs one call for each argument.
  for (const [at, kind] of kinds.entries()) {
    const value = args[at]
    const isOptional = kind.endsWith('?')
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the type has no other names
    const noun = (isOptional ? kind.slice(0, -1) : kind) as Noun
    if (isOptional && value === undefined) continue
    if (!checks[noun](value)) return faulty(where, at, noun, value)
  }
  return undefined
}

function faulty(where: string, at: number, noun: Noun, value: unknown): ProvostError {
  const shown = value === null ? 'null' : Array.isArray(value) ? 'a list' : `of type ${typeof value}`
  return new ProvostError('invalid-argument', `The ${places[at] ?? 'last'} argument of ${where} is ${shown}.`, {
    hint: `Give ${nouns[noun]}.`,
  })
}

type Noun = keyof typeof nouns

const checks: Readonly<Record<Noun, (value: unknown) => boolean>> = {
  text: (value) => typeof value === 'string',
  number: (value) => typeof value === 'number',
  object: isRecord,
  list: Array.isArray,
  objects: (value) => Array.isArray(value) && value.every(isRecord),
  position: (value) => isRecord(value) && typeof value['after'] === 'number' && typeof value['fence'] === 'number',
  bytes: (value) => value instanceof Uint8Array,
  entries: (value) => isIterable(value) && (!Array.isArray(value) || value.every(isRecord)),
  message: (value) => isRecord(value) && (typeof value['content'] === 'string' || Array.isArray(value['content'])),
  state: (value) => isRecord(value) && value['waits'] instanceof Map,
  function: (value) => typeof value === 'function',
  any: () => true,
}

function isIterable(value: unknown): value is Iterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.iterator in value
}

/**
 * Rejects arguments of a wrong type, as they come from JavaScript.
 *
 * @throws ProvostError `invalid-argument` with the place of the argument and what to give.
 *
 * @example
 * checkArguments('runFanOut', [options], ['object'])
 */
export function checkArguments(where: string, args: readonly unknown[], kinds: readonly ArgumentKind[]): void {
  const fault = faultOf(where, args, kinds)
  if (fault) throw fault
}

/**
 * Returns the object with methods that reject arguments of a wrong type. An asynchronous method returns a rejected
 * promise, as its caller expects.
 *
 * @param where the object in messages: `memory`.
 * @param kinds the arguments of each method.
 * @param sync names of the methods that return no promise.
 */
export function withCheckedArguments<T extends object, K extends keyof T & string>(
  target: T,
  where: string,
  kinds: Readonly<Record<K, readonly ArgumentKind[]>>,
  sync: readonly K[] = [],
): T {
  const descriptors: PropertyDescriptorMap = Object.getOwnPropertyDescriptors(target)
  for (const name in kinds) {
    const method: unknown = target[name]
    if (typeof method !== 'function') continue
    const isSync = sync.includes(name)
    const value = (...args: readonly unknown[]): unknown => {
      const fault = faultOf(`${where}.${name}`, args, kinds[name])
      if (!fault) return Reflect.apply(method, target, args)
      if (isSync) throw fault
      return Promise.reject(fault)
    }
    descriptors[name] = { value, enumerable: true, writable: true, configurable: true }
  }
  const checked: T = Object.create(Object.prototype, descriptors)
  return checked
}
