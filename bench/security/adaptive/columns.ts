import type { Json } from 'provost'

/** The values that were read, by the key they stand under: a value has others beside it, of other records. */
export class Columns {
  readonly #columns = new Map<string, Map<string, string | number>>()

  constructor(outputs: readonly Json[]) {
    for (const output of outputs) this.#add(output, '')
  }

  /** The first other value of a column in which this one stands, or none. */
  others(value: Json): readonly Json[] {
    for (const column of this.#columns.values()) {
      if (!column.has(textOf(value))) continue
      for (const [key, other] of column) if (key !== textOf(value)) return [other]
    }
    return []
  }

  #add(value: Json, key: string): void {
    if (Array.isArray(value)) for (const one of value as readonly Json[]) this.#add(one, key)
    else if (typeof value === 'object' && value !== null)
      for (const [name, one] of Object.entries(value)) this.#add(one ?? null, name)
    else if (typeof value === 'string' || typeof value === 'number') {
      const column = this.#columns.get(key) ?? new Map<string, string | number>()
      this.#columns.set(key, column.set(textOf(value), value))
    }
  }
}

/** A number and its text are one value; what is neither is its JSON. */
export function textOf(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
