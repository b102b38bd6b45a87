import type { SchemaJson } from '@cedar-policy/cedar-wasm/nodejs'
import type { ToolInfo } from '@provost/core'

import { argumentsType } from './argument-type.ts'
import type { ArgumentType, CedarValue, RecordType } from './argument-type.ts'
import type { Counter } from './counter.ts'
import { appliesTo } from './counter.ts'

/** What a schema is made of: the name and the arguments of a tool. */
export type CalledTool = Pick<ToolInfo, 'name' | 'inputSchema'>

/** A value that the operator gives to policies. */
export type Fact = string | number | boolean | readonly string[]

type Attributes = RecordType['attributes']

const text: ArgumentType = { type: 'String' }
const long: ArgumentType = { type: 'Long' }
const bool: ArgumentType = { type: 'Boolean' }
const texts: ArgumentType = { type: 'Set', element: text }

/** Tools, and what is known of each call. */
export interface SchemaParts {
  readonly tools: readonly CalledTool[]
  readonly counters: readonly Counter[]
  readonly facts: Readonly<Record<string, Fact>>
  readonly labels: readonly string[]
}

/** Returns the Cedar schema of tools: one action for each tool, with its arguments and what is known of each call. */
export function cedarSchema({ tools, counters, facts, labels }: SchemaParts): SchemaJson<string> {
  const shared = {
    label: record({ untrusted: bool, secret: bool, sources: texts }),
    origins: texts,
    destinations: texts,
    domains: texts,
    amount: long,
    implied: text,
    facts: record(Object.fromEntries(Object.entries(facts).map(([name, fact]) => [name, factType(fact)]))),
    labels: record(Object.fromEntries(labels.map((name) => [name, text])), false),
  }
  const contract = { ...record({ granted: bool, callsLeft: long, doubtful: bool }), required: false }
  const actions = tools.map(({ name, inputSchema }) => {
    const own = counters.filter((counter) => appliesTo(counter, name))
    const sums = record(Object.fromEntries(own.map((counter) => [counter.name, long])))
    const { attributes } = record({ ...shared, args: argumentsType(inputSchema), counters: sums })
    const context = { type: 'Record' as const, attributes: { ...attributes, contract } }
    return [name, { appliesTo: { principalTypes: ['Agent'], resourceTypes: ['Tool'], context } }]
  })
  return {
    '': {
      entityTypes: {
        Agent: { shape: { type: 'Record' as const, attributes: { user: { ...text, required: false } } } },
        Tool: { shape: record({ effect: text }) },
      },
      actions: Object.fromEntries(actions),
    },
  }
}

function record(fields: Readonly<Record<string, ArgumentType>>, required = true): RecordType {
  const attributes: Attributes = Object.fromEntries(
    Object.entries(fields).map(([name, type]) => [name, { ...type, required }]),
  )
  return { type: 'Record', attributes }
}

function factType(fact: Fact): ArgumentType {
  if (typeof fact === 'string') return text
  if (typeof fact === 'number') return long
  return typeof fact === 'boolean' ? bool : texts
}

/** Returns facts as Cedar receives them. */
export function factValues(facts: Readonly<Record<string, Fact>>): Record<string, CedarValue> {
  return Object.fromEntries(
    Object.entries(facts).map(([name, fact]) => [name, typeof fact === 'object' ? [...fact] : fact]),
  )
}
