import { hash } from 'node:crypto'

import type { Json, JsonPointer } from '@provost/core'
import { isRecord } from '@provost/core'

import { argumentsType } from './argument-type.ts'
import type { ArgumentType } from './argument-type.ts'
import { invalidPolicy } from './cedar-error.ts'
import type { CalledTool } from './cedar-schema.ts'

/** A counter of a session, as a policy file declares it. */
export interface Counter {
  readonly name: string
  /** The argument that is added up; absent for a number of calls. */
  readonly sum?: JsonPointer
  readonly tools: readonly string[]
  /** The argument that the counter is kept apart by. */
  readonly per?: JsonPointer
}

const declaration =
  /^\/\/@counter\s+([A-Za-z_]\w{0,63})\s*=\s*(?:count|sum\((\/[^\s()]{1,200})\))\s+of\s+([\w.-]{1,128}(?:\s*,\s*[\w.-]{1,128}){0,49})(?:\s+per\s+(\/\S{1,200}))?\s*$/

/**
 * Reads the counters of a policy file. Each is a line of its own:
 * `//@counter refunded = sum(/cents) of refund per /customer`, or `//@counter mails = count of send_email`.
 *
 * @throws ProvostError `invalid-cedar-policy`
 */
export function countersIn(text: string, tools: readonly CalledTool[]): readonly Counter[] {
  const counters: Counter[] = []
  for (const [index, line] of text.split('\n').entries()) {
    if (!/^\s*\/\/\s*@counter\b/.test(line)) continue
    const found = declaration.exec(line.trim())
    if (!found) {
      throw invalidPolicy(`Line ${index + 1} of the policy declares no valid counter.`, [
        'Write //@counter NAME = sum(/argument) of TOOL, TOOL per /argument, or count in place of sum(…).',
      ])
    }
    const [, name = '', sum, names = '', per] = found
    const counter: Counter = {
      name,
      tools: names.split(',').map((one) => one.trim()),
      ...(isPointer(sum) && { sum }),
      ...(isPointer(per) && { per }),
    }
    if (counters.some((one) => one.name === name)) throw invalidPolicy(`The counter ${name} is declared twice.`)
    checkCounter(counter, tools)
    counters.push(counter)
  }
  return counters
}

function isPointer(text: string | undefined): text is JsonPointer {
  return text?.startsWith('/') === true
}

function checkCounter({ name, tools: names, sum, per }: Counter, tools: readonly CalledTool[]): void {
  for (const toolName of names) {
    const tool = tools.find((one) => one.name === toolName)
    if (!tool) throw invalidPolicy(`The counter ${name} is about the tool ${toolName}, which is not among the tools.`)
    const type = argumentsType(tool.inputSchema)
    if (sum !== undefined && requiredAt(type, sum) !== 'Long')
      throw invalidPolicy(`The counter ${name} adds up ${sum}, which is not a required number of ${toolName}.`)
    const key = per === undefined ? 'String' : requiredAt(type, per)
    if (key !== 'String' && key !== 'Long')
      throw invalidPolicy(
        `The counter ${name} is kept per ${per}, which is not a required text or number of ${toolName}.`,
      )
  }
}

function stepsOf(pointer: JsonPointer): readonly string[] {
  return pointer
    .slice(1)
    .split('/')
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
}

/** Characters of a value that a sum is kept apart by; a longer one is named by its hash. */
const longestKey = 200

/** Returns the type at a pointer if all of its path is required. */
function requiredAt(type: ArgumentType, pointer: JsonPointer): ArgumentType['type'] | undefined {
  let at = type
  for (const step of stepsOf(pointer)) {
    const next = at.type === 'Record' && Object.hasOwn(at.attributes, step) ? at.attributes[step] : undefined
    if (next?.required !== true) return undefined
    at = next
  }
  return at.type
}

/** Returns whether a counter has a value for calls of a tool. One that is kept apart needs the argument. */
export function appliesTo({ per, tools }: Counter, tool: string): boolean {
  return per === undefined || tools.includes(tool)
}

/**
 * Returns the name of the sum that a call belongs to. It is made of the declaration, so that a sum survives changes of
 * other parts of the policy.
 *
 * @throws Error for a call without the argument that the counter is kept apart by.
 */
export function sumName({ name, sum, tools, per }: Counter, input: Json): string {
  const declared = ['cedar', name, sum ?? 'count', tools.join(','), per ?? 'session']
  if (per === undefined) return declared.join(' ')
  const key = valueAt(input, per)
  if (typeof key !== 'string' && !Number.isSafeInteger(key)) throw new Error(`The call has no ${per}.`)
  const text = JSON.stringify(key)
  return [...declared, text.length <= longestKey ? text : hash('sha256', text)].join(' ')
}

/**
 * Returns what a call adds to a counter. A negative amount adds nothing, so that no call can lower a sum.
 *
 * @throws Error for an amount that is not a whole number.
 */
export function amountOf({ sum }: Counter, input: Json): number {
  if (sum === undefined) return 1
  const amount = valueAt(input, sum)
  if (typeof amount !== 'number' || !Number.isSafeInteger(amount)) throw new Error(`The amount ${sum} is not whole.`)
  return Math.max(0, amount)
}

function valueAt(input: Json, pointer: JsonPointer): unknown {
  let at: unknown = input
  for (const step of stepsOf(pointer)) {
    at = isRecord(at) && Object.hasOwn(at, step) ? at[step] : undefined
  }
  return at
}
