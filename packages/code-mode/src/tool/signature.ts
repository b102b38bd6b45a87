import { isRecord, type ToolInfo } from '@provost/core'

/** Limits for the depth and the length of a printed schema. A schema may come from another server. */
const deepest = 6
const mostText = 2000
const mostWords = 300

const identifier = /^[A-Za-z_$][\w$]*$/

function nameOf(key: string): string {
  return identifier.test(key) ? key : JSON.stringify(key)
}

/** The JSON Schema types. */
const types: ReadonlySet<unknown> = new Set(['string', 'boolean', 'null', 'number', 'integer', 'array', 'object'])

/** Escapes a text so that it cannot close the comment around it. */
function comment(words: readonly unknown[]): string {
  const text = words
    .flatMap((word) => (typeof word === 'string' && word !== '' ? [word] : []))
    .join('; ')
    .replaceAll(/\s+/g, ' ')
    .replaceAll('*/', '* /')
    .slice(0, mostWords)
  return text === '' ? '' : ` /* ${text} */`
}

/** Constraints that the TypeScript type does not express. */
function limitsOf(schema: Readonly<Record<string, unknown>>): string[] {
  const said = ['default', 'minimum', 'maximum', 'minLength', 'maxLength', 'minItems', 'maxItems', 'pattern', 'format']
  return said.flatMap((word) => (schema[word] === undefined ? [] : [`${word} ${JSON.stringify(schema[word])}`]))
}

function objectOf(schema: Readonly<Record<string, unknown>>, depth: number, words: boolean): string {
  const { properties, required, additionalProperties } = schema
  const must = new Set(Array.isArray(required) ? required : [])
  const rows = Object.entries(isRecord(properties) ? properties : {}).map(([key, value]) => {
    const notes = isRecord(value) ? [words && value['description'], ...limitsOf(value)] : []
    return `${nameOf(key)}${must.has(key) ? '' : '?'}: ${typeOf(value, depth + 1, words)}${comment(notes)}`
  })
  if (isRecord(additionalProperties)) rows.push(`[key: string]: ${typeOf(additionalProperties, depth + 1, words)}`)
  return rows.length === 0 ? 'Record<string, unknown>' : `{ ${rows.join(', ')} }`
}

/** The TypeScript of a JSON Schema. References and other complex parts become `unknown`; nothing is fetched. */
export function typeOf(schema: unknown, depth = 0, words = true): string {
  if (!isRecord(schema) || depth > deepest) return 'unknown'
  const { type, enum: values, const: only, anyOf, oneOf, allOf, items, prefixItems } = schema
  const each = (list: readonly unknown[], glue: string) =>
    list.map((one) => typeOf(one, depth + 1, words)).join(glue) || 'unknown'
  if ('const' in schema) return JSON.stringify(only) ?? 'unknown'
  if (Array.isArray(values)) return values.map((value) => JSON.stringify(value)).join(' | ') || 'never'
  if (Array.isArray(anyOf)) return each(anyOf, ' | ')
  if (Array.isArray(oneOf)) return each(oneOf, ' | ')
  if (Array.isArray(allOf)) return each(allOf, ' & ')
  if (Array.isArray(type)) {
    // Each type once: a list that repeats one type a hundred times would grow to a million, some levels deep.
    return each(
      [...new Set(type)].filter((one) => types.has(one)).map((one) => ({ ...schema, type: one })),
      ' | ',
    )
  }
  switch (type) {
    case 'string':
    case 'boolean':
    case 'null':
    case 'number':
      return type
    case 'integer':
      return 'number'
    case 'array':
      if (Array.isArray(prefixItems)) return `[${each(prefixItems, ', ')}]`
      return `Array<${typeOf(items, depth + 1, words)}>`
    case 'object':
      return objectOf(schema, depth, words)
    default:
      return isRecord(schema['properties']) ? objectOf(schema, depth, words) : 'unknown'
  }
}

const known = new WeakMap<ToolInfo, string>()

/**
 * How a script calls a tool. Created once for each tool. `words: false` omits descriptions, which are untrusted for
 * tools of another server.
 */
export function signatureOf(tool: ToolInfo, words = true): string {
  const before = words ? known.get(tool) : undefined
  if (before !== undefined) return before
  const call = identifier.test(tool.name) ? `tools.${tool.name}` : `tools[${JSON.stringify(tool.name)}]`
  const output = tool.outputSchema ? typeOf(tool.outputSchema, 0, words) : 'unknown'
  const said = words ? comment([tool.description ?? tool.title]).trim() : ''
  const signature = `${said === '' ? '' : `${said}\n`}${call}(args: ${typeOf(tool.inputSchema, 0, words)}): Promise<${output}>`
  const short = signature.length > mostText ? `${signature.slice(0, mostText)}…` : signature
  if (words) known.set(tool, short)
  return short
}
