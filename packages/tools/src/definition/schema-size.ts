import { ProvostError } from '@provost/core'

/** Characters of JSON that the schema of a tool may have. */
const mostCharacters = 256 * 1024

/**
 * Refuses a schema that no model should be sent. Stops counting where it is too much, so that size, depth and cycles
 * cost no more than the limit.
 *
 * @throws ProvostError `schema-too-large`
 */
export function checkSchemaSize(schema: unknown): void {
  let size = 0
  const left: unknown[] = [schema]
  while (left.length > 0) {
    const value = left.pop()
    if (typeof value === 'string') size += value.length + 2
    else if (typeof value !== 'object' || value === null) size += 4
    else if (Array.isArray(value)) {
      size += 2 + value.length
      if (size <= mostCharacters) for (const item of value) left.push(item)
    } else {
      size += 2
      for (const [key, field] of Object.entries(value)) {
        size += key.length + 4
        left.push(field)
      }
    }
    if (size <= mostCharacters) continue
    throw new ProvostError(
      'schema-too-large',
      `The JSON Schema has more than ${mostCharacters / 1024} KB, or runs in a circle.`,
      { hint: 'Describe less: cut long enums and descriptions, split the tool, or accept a part as text.' },
    )
  }
}
