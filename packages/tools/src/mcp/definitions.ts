import { isRecord, ProvostError } from '@provost/core'
import type { JsonSchema } from '@provost/core'

import type { McpDefinition, McpOptions, RefusedMcpTool } from '../mcp-transport/mcp-options.ts'
import type { Definitions } from './connection.ts'
import { fingerprintOf } from './fingerprint.ts'

/** A definition that may be used. */
export interface Accepted {
  readonly definition: McpDefinition
  readonly fingerprint: string
  /** Why it would be refused, where it is used although it is not accepted. */
  readonly unaccepted?: RefusedMcpTool
}

/** Characters of JSON that a definition may have, since a model has to read it. */
const maxDefinitionLength = 256 * 1024
/** Characters of JSON that all definitions of a server may have together. */
const maxLength = 4 * 1024 * 1024
const maxNameLength = 256

/**
 * Sorts definitions into those that may be used and those that may not.
 *
 * @param accept fingerprints by name; undefined accepts all.
 */
export function judgeDefinitions(
  definitions: Definitions,
  accept: Readonly<Record<string, string>> | undefined,
  unaccepted: McpOptions['unaccepted'] = 'refuse',
): { readonly accepted: Accepted[]; readonly refused: RefusedMcpTool[] } {
  const accepted: Accepted[] = []
  const refused: RefusedMcpTool[] = []
  const seen = new Set<string>()
  let left = maxLength
  for (const given of definitions) {
    const judged = judge(given, accept, left)
    if ('reason' in judged) refused.push(judged)
    else if (judged.unaccepted && unaccepted === 'refuse') refused.push(judged.unaccepted)
    else if (seen.has(given.name))
      refused.push({ name: given.name, reason: 'invalid', why: `the server defines ${quoted(given.name)} twice` })
    else accepted.push(judged)
    if ('length' in judged) left -= judged.length
    seen.add(given.name)
  }
  return { accepted, refused }
}

function judge(
  given: Definitions[number],
  accept: Readonly<Record<string, string>> | undefined,
  left: number,
): (Accepted & { readonly length: number }) | RefusedMcpTool {
  const { title, description, inputSchema, outputSchema, annotations } = given
  const name = given.name.slice(0, maxNameLength)
  if (name !== given.name || name === '')
    return { name, reason: 'invalid', why: `its name has ${given.name.length} characters: 1 to ${maxNameLength} are` }
  if (!isSchema(inputSchema) || !(outputSchema === undefined || isSchema(outputSchema)))
    return { name, reason: 'invalid', why: `the schemas of ${quoted(name)} are no JSON Schemas` }
  const definition: McpDefinition = {
    name,
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    inputSchema: { ...inputSchema, type: 'object' },
    ...(outputSchema && { outputSchema }),
    ...(annotations && { annotations: definedOf(annotations) }),
  }
  const fingerprint = fingerprintOf(definition)
  if (fingerprint === undefined)
    return { name, reason: 'too-large', why: `the schemas of ${quoted(name)} are nested over 64 levels` }
  const { length } = JSON.stringify(definition)
  if (length > maxDefinitionLength)
    return {
      name,
      reason: 'too-large',
      why: `the definition of ${quoted(name)} has ${length} characters: ${maxDefinitionLength} are allowed`,
    }
  if (length > left)
    return { name, reason: 'too-large', why: `the definitions up to ${quoted(name)} have over ${maxLength} characters` }
  const known = accept && Object.hasOwn(accept, name) ? accept[name] : undefined
  if (!accept || known === fingerprint) return { definition, fingerprint, length }
  const unaccepted: RefusedMcpTool =
    known === undefined
      ? { name, reason: 'new', why: `${quoted(name)} is not among the accepted tools`, fingerprint }
      : {
          name,
          reason: 'changed',
          why: `the definition of ${quoted(name)} has changed since it was accepted`,
          fingerprint,
        }
  return { definition, fingerprint, length, unaccepted }
}

/** Any object is one; what makes no sense in it allows everything. */
function isSchema(value: unknown): value is JsonSchema {
  return isRecord(value)
}

function definedOf(
  annotations: NonNullable<Definitions[number]['annotations']>,
): NonNullable<McpDefinition['annotations']> {
  const { title, readOnlyHint, destructiveHint, idempotentHint, openWorldHint } = annotations
  return {
    ...(title !== undefined && { title }),
    ...(readOnlyHint !== undefined && { readOnlyHint }),
    ...(destructiveHint !== undefined && { destructiveHint }),
    ...(idempotentHint !== undefined && { idempotentHint }),
    ...(openWorldHint !== undefined && { openWorldHint }),
  }
}

/** Returns the error of a connection with rejected tools. */
export function refusal(server: string, refused: readonly RefusedMcpTool[]): ProvostError {
  const [first] = refused
  const listed = refused.slice(0, 10).map(({ why }) => why)
  if (refused.length > listed.length) listed.push(`and ${refused.length - listed.length} more`)
  return new ProvostError(
    first?.fingerprint === undefined ? 'mcp-invalid-definition' : 'mcp-definition-changed',
    `Tools of the MCP server ${server} are refused: ${listed.join('; ')}.`,
    { hint: remedy(refused) },
  )
}

function remedy(refused: readonly RefusedMcpTool[]): string {
  const rows = refused
    .filter(({ fingerprint }) => fingerprint !== undefined)
    .slice(0, 10)
    .map(({ name, fingerprint }) => `${quoted(name)}: ${quoted(fingerprint ?? '')}`)
  const leaveOut = 'To go on without them, pass onRefused.'
  if (rows.length === 0) return leaveOut
  return `Look at what they say now; to accept them, pass accept: { ${rows.join(', ')} } beside the others. ${leaveOut}`
}

function quoted(text: string): string {
  return JSON.stringify(text)
}
