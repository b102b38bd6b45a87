import type { JsonPointer } from '../values/json.ts'
import { escapePointer, isRecord } from '../values/json.ts'
import type { ArgRole, ToolCall } from './tool-info.ts'

/** A value of an argument with a role. */
export interface RoleValue {
  readonly path: JsonPointer
  readonly role: ArgRole
  readonly value: string
}

/**
 * Returns one row for each string or number in an argument with this role, as text.
 *
 * @example
 * argsByRole(call, 'destination') // [{ path: '/to', role: 'destination', value: 'ann@example.com' }]
 */
export function argsByRole(call: ToolCall, ...roles: readonly [ArgRole, ...ArgRole[]]): readonly RoleValue[] {
  const rows: RoleValue[] = []
  for (const [pointer, role] of Object.entries(call.tool.roles)) {
    if (roles.includes(role)) collect(valueAt(call.input, pointer), pointer, role, rows)
  }
  return rows
}

function collect(value: unknown, path: string, role: ArgRole, rows: RoleValue[]): void {
  if (typeof value === 'string' || typeof value === 'number') {
    rows.push({ path: `/${path.slice(1)}`, role, value: String(value) })
  } else if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) collect(item, `${path}/${index}`, role, rows)
  } else if (isRecord(value)) {
    for (const [key, item] of Object.entries(value)) collect(item, `${path}/${escapePointer(key)}`, role, rows)
  }
}

function valueAt(value: unknown, pointer: string): unknown {
  let at = value
  for (const segment of pointer.slice(1).split('/')) {
    const key = segment.replaceAll('~1', '/').replaceAll('~0', '~')
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, key)) return undefined
    at = Reflect.get(at, key)
  }
  return at
}
