import type { Label, Steps } from '@provost/core'

import type { Canonical } from '../text/canonical-text.ts'
import { canonicalBytes, folded } from '../text/canonical-text.ts'
import { longText } from '../text/long-text.ts'
import { eachStretchHash } from './shingle-hash.ts'

interface RegisteredSecret {
  readonly bytes: Uint8Array
  readonly from: { readonly source: string; readonly label: Label }
}

/** Registered values, which are found as a whole at any length. */
export interface SecretValues {
  add(value: string, from: RegisteredSecret['from']): void
  find(text: Canonical, found: (start: number, end: number, from: RegisteredSecret['from']) => void): Steps<void>
  /** Whether no value is registered. */
  readonly empty: boolean
  /** Returns the origin of a very short secret that is the whole value. */
  whole(value: string): RegisteredSecret['from'] | undefined
}

/** Letters and digits of the shortest secret that is found inside a text. */
export const shortestPart = 4

export function createSecretValues(): SecretValues {
  // One pass for each length, independent of the number of values.
  const byLength = new Map<number, Map<number, RegisteredSecret>>()
  const wholes = new Map<string, RegisteredSecret['from']>()
  return {
    add(value, from) {
      const bytes = canonicalBytes(value)
      if (bytes.length < shortestPart) {
        if (value.trim() !== '') wholes.set(value.trim(), from)
        return
      }
      let values = byLength.get(bytes.length)
      if (!values) byLength.set(bytes.length, (values = new Map()))
      eachStretchHash(bytes, bytes.length, bytes.length, (_, hash) => {
        if (!values.has(hash)) values.set(hash, { bytes, from })
      })
    },
    *find(text, found) {
      for (const one of byLength) {
        if (text.length > longText) yield
        findIn(text, one, found)
      }
    },
    get empty() {
      return byLength.size === 0
    },
    whole: (value) => (wholes.size > 0 ? wholes.get(value.trim()) : undefined),
  }
}

function findIn(
  { bytes, length }: Canonical,
  [size, values]: readonly [number, ReadonlyMap<number, RegisteredSecret>],
  found: (start: number, end: number, from: RegisteredSecret['from']) => void,
): void {
  eachStretchHash(bytes, length, size, (at, hash) => {
    const value = values.get(hash)
    if (value && isAt(value.bytes, bytes, at)) found(at, at + size, value.from)
  })
}

function isAt(value: Uint8Array, bytes: Uint8Array, at: number): boolean {
  for (let i = 0; i < value.length; i++) if (folded[value[i] ?? 0] !== folded[bytes[at + i] ?? 0]) return false
  return true
}
