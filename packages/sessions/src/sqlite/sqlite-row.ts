import type { SqliteFile } from './sqlite-file.ts'

/** A value of a column. */
export type Value = string | number | bigint | null | Uint8Array
type Statement = ReturnType<SqliteFile['sql']>

/** Returns rows as arrays, as the statements of a {@link SqliteFile} do; Node's types do not express it. */
export function rows(statement: Statement, ...values: readonly Value[]): readonly (readonly Value[])[] {
  const found: unknown = statement.all(...values)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- setReturnArrays was called, and these are its values.
  return found as readonly (readonly Value[])[]
}

export function row(statement: Statement, ...values: readonly Value[]): readonly Value[] | undefined {
  const found: unknown = statement.get(...values)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- setReturnArrays was called, and these are its values.
  return found as readonly Value[] | undefined
}
