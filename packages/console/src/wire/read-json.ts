import { escapePointer, isRecord } from '@provost/core'

import type { ShownLabel } from '../look/label-chips.tsx'

/** Returns a text of untyped JSON; the default for everything else. */
export function textOf(value: unknown, otherwise = ''): string {
  return typeof value === 'string' ? value : otherwise
}

/** Returns the label in untyped JSON; undefined if it is not an object. */
export function labelIn(label: unknown): ShownLabel | undefined {
  if (!isRecord(label)) return undefined
  const { integrity, confidentiality, readers, sources } = label
  return {
    integrity: textOf(integrity, 'untrusted'),
    confidentiality: textOf(confidentiality, 'internal'),
    ...(Array.isArray(readers) && { readers: textsIn(readers) }),
    sources: textsIn(sources),
  }
}

function textsIn(list: unknown): readonly string[] {
  return Array.isArray(list) ? list.filter((one) => typeof one === 'string') : []
}

/** Returns the arguments of a call with their JSON pointers. An input that is not an object is one argument with an empty pointer. */
export function argumentsOf(
  input: unknown,
  otherwise: string,
): readonly { readonly pointer: string; readonly name: string; readonly value: unknown }[] {
  if (!isRecord(input)) return [{ pointer: '', name: otherwise, value: input }]
  return Object.entries(input).map(([name, value]) => ({ pointer: `/${escapePointer(name)}`, name, value }))
}

/** Whether a place is an argument or below it. */
export function isWithin(path: string, pointer: string): boolean {
  return path === pointer || pointer === '' || path.startsWith(`${pointer}/`)
}
