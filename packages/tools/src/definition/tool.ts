import { checkLabel, checkOptions, escapePointer, isRecord, isStandardSchema, checkArguments } from '@provost/core'
import type {
  AnySchema,
  ArgRole,
  Effect,
  EffectScope,
  InboundPolicy,
  JsonPointer,
  StandardSchemaV1,
  Stated,
  Tier,
  Tool,
  ToolCaching,
  ToolDefinition,
  Truncation,
  WrittenFor,
} from '@provost/core'

import { invalidTool, makeTool } from './define-tool.ts'
import type { ToolParts } from './define-tool.ts'
import { cacheKeys, movedToolKeys, toolKeys } from './known-tool-options.ts'
import { fixLabel, isPointer } from './result-label.ts'
import { checkSandbox } from './sandbox.ts'
import { checkExamples } from './tool-example.ts'
import type { ResultOf, ToolOptions } from './tool-options.ts'

/** Milliseconds that a call may take by default. */
export const defaultTimeoutMs: number = 60_000

/** Milliseconds that a result is cached by default. */
const defaultCacheMs = 300_000

const longestTimeoutMs = 2 ** 31 - 1

/**
 * Defines a tool. Types follow from the schemas and from what `execute` returns.
 *
 * @throws ProvostError `unknown-option`; `invalid-tool` for a name, schema, timeout, role, pointer or example that cannot
 *   work, saying which; `invalid-label` for `returns`.
 *
 * @example
 * const refund = tool({
 *   name: 'refund',
 *   input: z.object({ orderId: z.string(), amount: z.number() }),
 *   args: { orderId: 'selector', amount: 'amount' },
 *   needsApproval: ({ amount }) => amount > 50,
 *   execute: ({ orderId, amount }) => `refunded ${amount} on ${orderId}`,
 * })
 */
export function tool<
  const S extends AnySchema,
  R = unknown,
  App = unknown,
  O extends StandardSchemaV1 = StandardSchemaV1,
  Asking = unknown,
  C extends boolean = false,
  const Secret extends string = never,
>(options: ToolOptions<S, R, App, O, Asking, C, Secret>): Tool<WrittenFor<S>, ResultOf<R, O>, Stated<App & Asking>> {
  checkArguments('tool', [options], ['object'])
  checkOptions(options, toolKeys, placeOf(options.name), movedToolKeys)
  const { name, title, description, effect = 'write', idempotent = false, deferLoading = false } = options
  if (!isStandardSchema(options.input) && !isRecord(options.input))
    throw invalidTool(
      name,
      'its input is not a schema',
      'Give a Standard Schema such as z.object({ … }), or a JSON Schema.',
    )
  const remote = options.execute === undefined
  if (options.sandbox !== undefined) checkSandbox({ name, remote }, options.sandbox)
  return makeTool({
    name,
    version: versionOf(options),
    title,
    description,
    effect,
    roles: rolesOf(name, options.args ?? {}),
    idempotent,
    remote,
    sandbox: options.sandbox,
    composite: compositeOf(options, options.execute, options.lookup),
    deferred: deferLoading,
    modelOnly: options.modelOnly,
    definition: definitionOf(options),
    lazy: deferLoading,
    ...limitOf(options),
    sanitize: sanitizeOf(options),
  })
}

/** How messages refer to the call that creates a tool. */
function placeOf(name: unknown): string {
  return typeof name === 'string' && name !== '' ? `tool ${JSON.stringify(name.slice(0, 100))}` : 'tool'
}

function versionOf({ name, version }: { readonly name: string; readonly version?: string }): string | undefined {
  if (version === undefined || (typeof version === 'string' && version !== '')) return version
  throw invalidTool(name, `its version is ${JSON.stringify(version)}`, "Give a text such as '2'.")
}

function compositeOf(
  { name, composite = false }: { readonly name: string; readonly composite?: boolean },
  execute: unknown,
  lookup: unknown,
): boolean {
  if (composite && !execute)
    throw invalidTool(name, 'it is a composite without an execute', 'Add `execute`, or remove `composite`.')
  if (composite && lookup)
    throw invalidTool(
      name,
      'it is a composite with a lookup',
      'Remove `lookup`: a composite is entered again after a crash.',
    )
  return composite
}

function definitionOf<
  S extends AnySchema,
  R,
  App,
  O extends StandardSchemaV1,
  Asking,
  C extends boolean,
  Secret extends string,
>(options: ToolOptions<S, R, App, O, Asking, C, Secret>): ToolDefinition {
  const { name, input, output, execute, returns, needsApproval, preferredModel, lookup, secrets } = options
  const { effectKey, effectScope = 'session', compensate, stage = false } = options
  const { timeoutMs = timeoutOf(execute), executionMode = 'parallel', examples = [], effect = 'write' } = options
  checkWord(name, 'effect', effect, effects)
  checkWord(name, 'executionMode', executionMode, modes)
  if (preferredModel !== undefined) checkWord(name, 'preferredModel', preferredModel, tiers)
  if (typeof returns !== 'function') checkLabel(returns, `"returns" of tool ${name}`)
  const cache = cachingOf(name, options.cache, effect, execute === undefined)
  const trustedFields = (options.trustedFields ?? []).map((field) => pointerIn(name, field))
  if (options.timeoutMs !== undefined && !(timeoutMs > 0 && timeoutMs <= longestTimeoutMs))
    throw invalidTool(name, `timeoutMs is ${timeoutMs}`, `Give milliseconds from 1 to ${longestTimeoutMs}.`)
  if (secrets && !execute)
    throw invalidTool(
      name,
      'it is remote and declares secrets',
      'Remove secrets: only a tool with execute receives them.',
    )
  if (lookup && !execute)
    throw invalidTool(name, 'it is remote and has a lookup', 'Remove `lookup`: the tool does not run here.')
  checkEffectKey(options, effect)
  checkCompensate(options, effect)
  if (typeof stage !== 'boolean') throw invalidTool(name, `its stage is of type ${typeof stage}`, 'Give true or false.')
  const checking = checkExamples(name, examples, input, output)
  // Told of where it is waited for.
  if (checking) checking.catch(() => {})
  const definition: ToolDefinition = Object.freeze({
    input,
    ...(checking && { prepare: () => checking }),
    ...(output && { output }),
    timeoutMs,
    executionMode,
    trustedFields,
    ...(secrets && { secrets: Object.freeze([...secrets]) }),
    examples,
    ...(preferredModel && { preferredModel }),
    ...(cache && { cache }),
    ...(execute && { execute }),
    ...(lookup && { lookup }),
    ...(effectKey && { effectKey, effectScope }),
    ...(compensate && { compensate }),
    ...(stage && { stage }),
    ...(needsApproval && { needsApproval: needsApproval === true ? () => true : needsApproval }),
    ...(returns && { returns: typeof returns === 'function' ? returns : () => returns }),
  })
  if (returns && typeof returns !== 'function') fixLabel(definition, returns)
  return definition
}

/** @throws ProvostError `invalid-tool` for an effect key on a tool whose effect it cannot identify. */
function checkEffectKey(
  { name, effectKey, effectScope, execute, composite, idempotent }: EffectKeyOptions,
  effect: Effect,
): void {
  if (effectScope !== undefined) checkWord(name, 'effectScope', effectScope, effectScopes)
  if (effectKey === undefined) {
    if (effectScope === undefined) return
    throw invalidTool(name, 'it has an effectScope without an effectKey', 'Add `effectKey`, or remove `effectScope`.')
  }
  if (typeof effectKey !== 'function')
    throw invalidTool(name, 'its effectKey is not a function', 'Write effectKey: (input) => input.invoice.')
  if (effect === 'none' || effect === 'read')
    throw invalidTool(
      name,
      `its effect is ${effect} and it has an effectKey`,
      "Remove `effectKey`, or declare effect: 'write'.",
    )
  if (!execute || composite)
    throw invalidTool(
      name,
      `it ${execute ? 'is a composite' : 'is remote'} and has an effectKey`,
      'Give the effectKey to the tool whose execute causes the effect.',
    )
  if (idempotent)
    throw invalidTool(name, 'it is idempotent and has an effectKey', 'Remove `idempotent`: the ledger repeats nothing.')
}

interface EffectKeyOptions {
  readonly name: string
  readonly effectKey?: unknown
  readonly effectScope?: unknown
  readonly execute?: unknown
  readonly composite?: unknown
  readonly idempotent?: boolean
}

/** @throws ProvostError `invalid-tool` for a compensation that has nothing to undo. */
function checkCompensate({ name, compensate, composite }: CompensateOptions, effect: Effect): void {
  if (compensate === undefined) return
  if (typeof compensate !== 'function')
    throw invalidTool(name, 'its compensate is not a function', 'Write compensate: (output, ctx) => ….')
  if (effect === 'none' || effect === 'read')
    throw invalidTool(
      name,
      `its effect is ${effect} and it has a compensate`,
      "Remove `compensate`, or declare effect: 'write'.",
    )
  if (composite)
    throw invalidTool(
      name,
      'it is a composite and has a compensate',
      'Give `compensate` to the tools that it calls: each of their effects is undone.',
    )
}

interface CompensateOptions {
  readonly name: string
  readonly compensate?: unknown
  readonly composite?: boolean
}

/** Returns the default time-out. A hanging process needs one; a remote result may take days. */
export function timeoutOf(execute: unknown): number {
  return execute ? defaultTimeoutMs : Number.POSITIVE_INFINITY
}

/**
 * Returns how the results of a tool are cached.
 *
 * @throws ProvostError `invalid-tool` where a kept result would hide an effect.
 */
export function cachingOf(
  name: string,
  cache: ToolOptions<AnySchema, unknown, unknown, StandardSchemaV1>['cache'],
  effect: Effect,
  remote: boolean,
): ToolCaching | undefined {
  if (cache === undefined || cache === false) return undefined
  if (effect !== 'none' && effect !== 'read')
    throw invalidTool(
      name,
      `its effect is ${effect}, and a cached result would skip it`,
      "Cache only tools with the effect 'read' or 'none', and declare it.",
    )
  if (remote) throw invalidTool(name, 'it is remote and cannot be cached', 'Cache its results where it is executed.')
  if (cache !== true) checkOptions(cache, cacheKeys, `"cache" of tool ${name}`)
  const { ttlMs = defaultCacheMs, share = 'session' } = cache === true ? {} : cache
  checkWord(name, 'share', share, shares)
  if (!(ttlMs > 0)) throw invalidTool(name, `its cache has ttlMs: ${ttlMs}`, 'Give milliseconds from 1.')
  return { ttlMs, share }
}

function limitOf(
  options: Pick<Tool, 'name' | 'maxResultTokens' | 'truncation'>,
): Pick<ToolParts, 'maxResultTokens' | 'truncation'> {
  const { name, maxResultTokens, truncation } = options
  if (maxResultTokens !== undefined && !(Number.isSafeInteger(maxResultTokens) && maxResultTokens > 0))
    throw invalidTool(name, `maxResultTokens is ${maxResultTokens}`, 'Give a whole number from 1.')
  if (truncation !== undefined && !truncations.has(truncation))
    throw invalidTool(name, `truncation is ${JSON.stringify(truncation)}`, `Give ${[...truncations].join(', ')}.`)
  return { maxResultTokens, truncation }
}

const truncations: ReadonlySet<Truncation> = new Set<Truncation>(['head', 'middle', 'spill'])

function sanitizeOf({ name, sanitize }: Pick<Tool, 'name' | 'sanitize'>): Tool['sanitize'] {
  if (typeof sanitize === 'string') checkWord(name, 'sanitize', sanitize, policies)
  return sanitize
}

const effects: readonly Effect[] = ['none', 'read', 'write', 'egress']
const effectScopes: readonly EffectScope[] = ['session', 'principal', 'agent']
const modes: readonly ToolDefinition['executionMode'][] = ['parallel', 'sequential']
const tiers: readonly Tier[] = ['fast', 'balanced', 'smart']
const shares: readonly ToolCaching['share'][] = ['session', 'agent']
const policies: readonly InboundPolicy[] = ['flag', 'strip', 'wrap', 'strip+wrap']

/** Values from JavaScript or a file, which the compiler has not checked. */
export function checkWord(name: string, option: string, word: unknown, words: readonly string[]): void {
  if (words.some((known) => known === word)) return
  const shown = typeof word === 'string' ? JSON.stringify(word.slice(0, 60)) : String(word).slice(0, 60)
  throw invalidTool(name, `${option} is ${shown}`, `Give ${words.map((known) => `'${known}'`).join(', ')}.`)
}

const roleWords: Readonly<Record<ArgRole, true>> = {
  destination: true,
  content: true,
  selector: true,
  attachment: true,
  credential: true,
  amount: true,
  time: true,
  flag: true,
}

/**
 * Roles by JSON pointer.
 *
 * @throws ProvostError `invalid-tool` for a role that there is not.
 */
export function rolesOf(
  name: string,
  args: Readonly<Record<string, ArgRole | undefined>>,
): Record<JsonPointer, ArgRole> {
  const roles: Record<JsonPointer, ArgRole> = {}
  for (const [key, role] of Object.entries(args)) {
    if (role === undefined) continue
    checkWord(name, `the role of "${key}" in args`, role, Object.keys(roleWords))
    roles[pointerOf(key)] = role
  }
  return roles
}

/** Returns a JSON pointer that a tool declares. */
export function pointerIn(name: string, field: string): JsonPointer {
  if (isPointer(field)) return field
  throw invalidTool(name, `trustedFields has ${JSON.stringify(field)}`, 'Give JSON pointers such as /id.')
}

function pointerOf(key: string): JsonPointer {
  return isPointer(key) ? key : `/${escapePointer(key)}`
}
