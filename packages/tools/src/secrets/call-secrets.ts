import { escapePointer, isRecord, mapTexts, replaceTokens } from '@provost/core'
import type { Json, MaybePromise, Tool } from '@provost/core'

import { parseInput } from '../definition/parse-input.ts'
import type { ParsedInput } from '../definition/parse-input.ts'
import { denied } from './secret-scope.ts'
import type { SecretScope } from './secret-scope.ts'

/** Returns the values that a tool declares. Undefined and synchronous if there are none. */
export function declaredSecrets(
  tool: Tool,
  scope: SecretScope | undefined,
): Promise<ReadonlyMap<string, string>> | undefined {
  const names = tool['~tool'].secrets ?? []
  return names.length === 0 ? undefined : resolveAll(names, scope)
}

async function resolveAll(
  names: readonly string[],
  scope: SecretScope | undefined,
): Promise<ReadonlyMap<string, string>> {
  if (!scope) throw denied(names[0] ?? '', 'there is no scope that grants any')
  return new Map(await Promise.all(names.map(async (name) => [name, await scope.resolve(name)] as const)))
}

/** Returns `ctx.secrets`: the declared secrets, available while the call runs. */
export function secretsFor(
  tool: Tool,
  values: ReadonlyMap<string, string>,
  over: () => boolean,
): Readonly<Record<string, string>> {
  if (values.size > 0) return secretsOf(tool.name, values, over)
  // Most tools declare none: all their calls share this refusal.
  let refusing = withoutSecrets.get(tool)
  if (!refusing) withoutSecrets.set(tool, (refusing = secretsOf(tool.name, values, () => false)))
  return refusing
}

const withoutSecrets = new WeakMap<Tool, Readonly<Record<string, string>>>()

function secretsOf(
  tool: string,
  values: ReadonlyMap<string, string>,
  over: () => boolean,
): Readonly<Record<string, string>> {
  const target: Record<string, string> = Object.freeze(Object.create(null))
  return new Proxy(target, {
    get(_, name) {
      // Inspectors and `await` read these.
      if (typeof name === 'symbol' || name === 'then' || name === 'toJSON') return undefined
      const value = values.get(name)
      if (value === undefined) throw denied(name, `${tool} does not declare it`)
      if (over()) throw denied(name, `the call of ${tool} is over`)
      return value
    },
  })
}

/** The content of a message, a document or an address goes to others, so a secret in it would be disclosed. */
const outward: ReadonlySet<string> = new Set(['destination', 'content', 'attachment'])

/**
 * Returns the parsed input of a call with values in place of its tokens. Undefined if there are none.
 *
 * @param values of the secrets that the tool declares.
 * @throws ProvostError `secret-denied` for a secret that the tool does not declare, one in an argument that goes to
 * others, and one in a writing that cannot be restored.
 */
export function restoredInput(
  tool: Tool,
  input: Json,
  scope: SecretScope | undefined,
  values: ReadonlyMap<string, string>,
): MaybePromise<ParsedInput> | undefined {
  // A secret that was never read has a name, but no value in the scrubber.
  if (!scope || (scope.scrubber.empty && scope.refs.size === 0)) return undefined
  const restored = restore(tool, input, '', scope, values)
  return restored === input ? undefined : parseInput(tool, restored)
}

/** The value for the token of a name, or the refusal. */
type ValueOf = (name: string) => string

function restore(tool: Tool, value: Json, at: string, scope: SecretScope, values: ReadonlyMap<string, string>): Json {
  const role = Object.entries(tool.roles).find(([pointer]) => pointer === at)?.[1]
  if (role !== undefined && outward.has(role)) {
    // Nothing is changed here: any secret is rejected.
    return mapTexts(value, (text) => withValues(tool, text, scope, (name) => refuse(name, `${at} goes to others`)))
  }
  const declared: ValueOf = (name) => values.get(name) ?? refuse(name, `${tool.name} does not declare it`)
  if (typeof value === 'string') return withValues(tool, value, scope, declared)
  if (Array.isArray(value)) {
    const list = value.map((item: Json, index) => restore(tool, item, `${at}/${index}`, scope, values))
    return list.some((item, index) => item !== value[index]) ? list : value
  }
  if (!isRecord(value)) return value
  let same = true
  const fields = Object.entries(value).map(([key, field = null]): [string, Json] => {
    const next = restore(tool, field, `${at}/${escapePointer(key)}`, scope, values)
    const name = withValues(tool, key, scope, declared)
    same &&= next === field && name === key
    return [name, next]
  })
  return same ? value : Object.fromEntries(fields)
}

function withValues({ name: tool }: Tool, text: string, scope: SecretScope, valueOf: ValueOf): string {
  return replaceTokens(text, ({ kind, name }, whole) => {
    // An unknown name is plain text that looks like a token.
    if (!scope.scrubber.has(name) && !scope.refs.has(name)) return whole
    if (kind === 'redacted') refuse(name, `${tool} was called with another writing of it; write ⟦secret:${name}⟧`)
    return valueOf(name)
  })
}

function refuse(name: string, why: string): never {
  throw denied(name, why)
}
