import { codeUnits } from './canonical-text.ts'

/** Collects code units with their original positions. */
export interface TextMap {
  readonly text: string
  readonly source: Uint16Array
  units: Uint16Array
  length: number
  /** The starts of runs of adjacent units, and the original position of each, alternating. */
  readonly runs: number[]
}

export function createTextMap(text: string): TextMap {
  return { text, source: codeUnits(text, 0, text.length), units: new Uint16Array(512), length: 0, runs: [] }
}

function makeRoom(writer: TextMap, more: number): void {
  const needed = writer.length + more
  const { units, source } = writer
  if (needed <= units.length) return
  // Decoded text is rarely longer than its source.
  writer.units = new Uint16Array(Math.max(needed, Math.min(units.length * 4, source.length)))
  writer.units.set(units)
}

/** Writes a part of the text unchanged. */
export function copy(writer: TextMap, start: number, end: number): void {
  if (end <= start) return
  makeRoom(writer, end - start)
  const { source, units, length } = writer
  const shift = length - start
  for (let i = start; i < end; i++) units[i + shift] = source[i] ?? 0
  writer.runs.push(length, start)
  writer.length = length + end - start
}

/** Writes a decoded character that starts at `place`. */
export function put(writer: TextMap, point: number, place: number): void {
  if (point > 0x10ffff) return
  makeRoom(writer, 2)
  writer.runs.push(writer.length, place)
  if (point >= 0x10000) writer.units[writer.length++] = 0xd800 + ((point - 0x10000) >> 10)
  writer.units[writer.length++] = point < 0x10000 ? point : 0xdc00 + ((point - 0x10000) & 0x3ff)
}

/** Removes a written unit. */
export function takeBack(writer: TextMap, length: number): void {
  const { runs } = writer
  while ((runs.at(-2) ?? -1) >= length) runs.length -= 2
  writer.length = length
}

/** Returns the original position of a written unit, or -1. */
export function placeOf({ runs }: TextMap, index: number): number {
  let [low, high] = [0, runs.length / 2 - 1]
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if ((runs[2 * middle] ?? 0) <= index) low = middle
    else high = middle - 1
  }
  return index < 0 ? -1 : (runs[2 * low + 1] ?? -1) + index - (runs[2 * low] ?? 0)
}
