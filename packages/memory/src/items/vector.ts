import { toErrorInfo } from '@provost/core'

import type { NearestItem, VectorEngine } from './memory-store.ts'

/**
 * How embeddings are compared. `extension` uses sqlite-vec or pgvector if the database has it, else `in-process`
 * comparison.
 */
export type VectorMode = 'extension' | 'in-process'

/** How many of the newest embeddings are compared in the process. */
export const mostCompared = 20_000

export function similarity(a: Float32Array, b: Float32Array): number {
  if (a.length !== b.length) return 0
  let [dot, left, right] = [0, 0, 0]
  for (let i = 0; i < a.length; i++) {
    const [x = 0, y = 0] = [a[i], b[i]]
    dot += x * y
    left += x * x
    right += y * y
  }
  const length = Math.sqrt(left * right)
  return length > 0 ? dot / length : 0
}

/** Little-endian bytes, whatever machine reads them. */
export function toBytes(vector: Float32Array): Uint8Array {
  const bytes = new Uint8Array(vector.length * 4)
  const view = new DataView(bytes.buffer)
  for (const [i, value] of vector.entries()) view.setFloat32(i * 4, value, true)
  return bytes
}

/** A machine that stores numbers as the bytes are stored reads them where they are. */
const littleEndian = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1

export function fromBytes(bytes: Uint8Array): Float32Array {
  const { buffer, byteOffset, byteLength } = bytes
  const count = byteLength >> 2
  if (littleEndian) {
    const aligned = byteOffset % 4 === 0 ? { buffer, byteOffset } : { buffer: bytes.slice().buffer, byteOffset: 0 }
    return new Float32Array(aligned.buffer, aligned.byteOffset, count)
  }
  const view = new DataView(buffer, byteOffset, byteLength)
  const vector = new Float32Array(count)
  for (let i = 0; i < count; i++) vector[i] = view.getFloat32(i * 4, true)
  return vector
}

/** The nearest of some stored embeddings. */
export function nearestOf(
  stored: Iterable<readonly [no: number, bytes: Uint8Array]>,
  vector: Float32Array,
  limit: number,
): readonly NearestItem[] {
  const found: NearestItem[] = []
  for (const [no, bytes] of stored) found.push({ no, similarity: similarity(vector, fromBytes(bytes)) })
  return found.toSorted((a, b) => b.similarity - a.similarity || b.no - a.no).slice(0, limit)
}

/** An item from a row of its number and its cosine distance; a vector of zeros has none. */
export function nearOf([no, distance]: readonly unknown[]): NearestItem {
  const alike = 1 - Number(distance ?? 1)
  return { no: Number(no), similarity: Number.isFinite(alike) ? alike : 0 }
}

/** Says once why an extension that is there is not used. */
export function warnOfExtension(name: VectorEngine, error: unknown): void {
  const message = `${name} cannot be used: ${toErrorInfo(error).message}. Embeddings are compared in the process.`
  process.emitWarning(message, { type: 'ProvostMemory' })
}
