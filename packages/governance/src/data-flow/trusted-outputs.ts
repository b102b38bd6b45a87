import type { Extension, JsonPointer, Label, ToolInfo, ToolResult } from '@provost/core'
import { checkChoice, defineExtension, escapePointer, isRecord, ProvostError } from '@provost/core'

/**
 * Outputs of tools, and who can write them. A key is the name of a tool (`get_order`, or `get_order.*`), or a field of its
 * output (`search_orders.items.*.id`; `*` is any one step). The longest key that fits a value applies.
 */
export type OutputTrust = Readonly<Record<string, 'trusted' | 'untrusted'>>

/** What is declared for one tool. */
interface ToolTrust {
  readonly whole?: Label['integrity']
  readonly fields: readonly (readonly [JsonPointer, Label['integrity']])[]
}

/**
 * Returns an extension that declares which outputs of an agent's tools no outsider can write, such as those of the company's
 * own database. Everything else keeps its label: the confidentiality, fields that are not named, results of failed calls,
 * and the tools of other agents. Put it on the agent that has the tools.
 *
 * @throws ProvostError `invalid-policy` before the first run of the agent, for a tool that the agent lacks, and for a field
 *   that the output schema of the tool lacks; `invalid-option` for another value than `trusted` and `untrusted`.
 *
 * @example
 * createAgent({
 *   name: 'desk', model, tools,
 *   extensions: [
 *     dataFlowPolicy({ mode: 'enforce' }),
 *     trustedOutputs({ get_order: 'trusted', 'get_order.note': 'untrusted', 'search_orders.items.*.id': 'trusted' }),
 *   ],
 * })
 */
export function trustedOutputs(outputs: OutputTrust): Extension<unknown> {
  if (!isRecord(outputs)) throw invalid('is not an object', 'Write { get_order: "trusted" }.')
  const lines = Object.entries({ ...outputs })
  for (const [key, value] of lines) checkChoice(value, ['trusted', 'untrusted'], key, 'trustedOutputs')
  return defineExtension({
    name: 'trusted-outputs',
    init: ({ name, tools }) => {
      for (const [key] of lines) check(key, name, tools)
    },
    hooks: {
      'tool.result': (result) => {
        if (result.outcome !== 'ok') return undefined
        const trust = trustOf(result.tool.name, lines)
        return trust && relabelled(result, trust)
      },
    },
  })
}

function invalid(what: string, hint: string): ProvostError {
  return new ProvostError('invalid-policy', `trustedOutputs ${what}.`, { hint })
}

/** Returns the steps from a tool to the field that a key names; undefined for a key of another tool. */
function stepsOf(key: string, tool: string): readonly string[] | undefined {
  if (key === tool || key === `${tool}.*`) return []
  return key.startsWith(`${tool}.`) ? key.slice(tool.length + 1).split('.') : undefined
}

function trustOf(tool: string, lines: readonly (readonly [string, Label['integrity']])[]): ToolTrust | undefined {
  let whole: Label['integrity'] | undefined
  const fields: (readonly [JsonPointer, Label['integrity']])[] = []
  for (const [key, integrity] of lines) {
    const steps = stepsOf(key, tool)
    if (steps?.length === 0) whole = integrity
    else if (steps) fields.push([`/${steps.map(escapePointer).join('/')}`, integrity])
  }
  return whole === undefined && fields.length === 0 ? undefined : { fields, ...(whole && { whole }) }
}

/** A label that a tool declares for a field outweighs the declaration for the whole output. */
function relabelled(result: ToolResult, { whole, fields }: ToolTrust): ToolResult {
  const label: Label = whole ? { ...result.label, integrity: whole } : result.label
  if (fields.length === 0) return { ...result, label }
  const named = fields.map(([pointer, integrity]) => {
    const before = result.fields?.[pointer] ?? result.label
    return [pointer, { ...before, integrity }] as const
  })
  return { ...result, label, fields: { ...result.fields, ...Object.fromEntries(named) } }
}

function check(key: string, agent: string, tools: readonly ToolInfo[]): void {
  const found = tools.flatMap((tool) => {
    const steps = stepsOf(key, tool.name)
    return steps ? [{ tool, steps }] : []
  })
  if (found.length === 0) {
    const names = tools.map(({ name }) => name).slice(0, mostShown)
    throw invalid(
      `names ${JSON.stringify(key)}, which is no tool of the agent ${agent}`,
      `Its tools are ${names.join(', ') || 'none'}. Write TOOL or TOOL.field.`,
    )
  }
  for (const { tool, steps } of found) {
    if (!hasField(tool.outputSchema, steps)) {
      throw invalid(
        `names ${JSON.stringify(key)}, and the output schema of ${tool.name} has no such field`,
        'Write the names of its fields, and * for an item of a list.',
      )
    }
  }
}

/** Names of tools in an error. */
const mostShown = 20

/** Returns whether a schema allows a field. A schema that does not list its fields allows every field. */
function hasField(schema: unknown, steps: readonly string[]): boolean {
  let at: unknown = schema
  for (const step of steps) {
    if (!isRecord(at)) return true
    const { properties, items, additionalProperties } = at
    if (step === '*' && items !== undefined) at = items
    else if (!isRecord(properties)) return at['type'] === undefined || at['type'] === 'object' || step === '*'
    else if (step === '*') return true
    else if (Object.hasOwn(properties, step)) at = properties[step]
    else return isRecord(additionalProperties) || additionalProperties === true
  }
  return true
}
