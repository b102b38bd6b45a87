import { foldedTwice, rotated, folded } from './canonical.ts'

/**
 * Hashes of windows of canonical text that are the same for a window, its reversal and its rot13: one look-up finds
 * all. Their tables are random, so that nobody can write texts that collide.
 */
const base = 0x9e3779b1 | 0
const baseInverse = inverse(base)

/** Odd numbers have one modulo 2³². Each round doubles the bits that are right. */
function inverse(odd: number): number {
  let x = odd
  for (let round = 0; round < 5; round++) x = Math.imul(x, 2 - Math.imul(odd, x))
  return x
}

const random = crypto.getRandomValues(new Int32Array(256))
/** One for a letter and its rot13. */
const twice = Int32Array.from({ length: 256 }, (_, code) => random[foldedTwice[code] ?? 0] ?? 0)
const once = Int32Array.from({ length: 256 }, (_, code) => random[folded[code] ?? 0] ?? 0)
const turned = Int32Array.from({ length: 256 }, (_, code) => random[rotated[code] ?? 0] ?? 0)

/** Good bits at the top of a product go down to those that are not. */
function mix(sum: number): number {
  const product = Math.imul(sum ^ (sum >>> 15), 0x85ebca6b)
  return (product ^ (product >>> 15)) >>> 0
}

/** The same for both orders of its arguments, and not a sum: letters that change places in pairs change it. */
function combine(forward: number, backward: number): number {
  return mix((forward + backward + Math.imul(forward, backward)) | 0)
}

/** A hash that only true variants share: those of {@link windowHashes} also take a letter here and there for its rot13. */
export function exactHash(bytes: Uint8Array, at: number, length: number): number {
  return mix((hashWith(once, bytes, at, length) + hashWith(turned, bytes, at, length)) | 0)
}

function hashWith(table: Int32Array, bytes: Uint8Array, at: number, length: number): number {
  let [forward, backward] = [0, 0]
  for (let i = at, j = at + length - 1; i < at + length; i++, j--) {
    forward = (Math.imul(forward, base) + (table[bytes[i] ?? 0] ?? 0)) | 0
    backward = (Math.imul(backward, base) + (table[bytes[j] ?? 0] ?? 0)) | 0
  }
  return combine(forward, backward)
}

/** Places read in advance of the hashes: all at once takes hardly longer than one. */
const ahead = 32
/** What was read so: kept, or nothing would be read. */
let touched = 0

/** Writes the hashes of the windows at the first so many places, each to be multiplied by `scale`. */
export function windowHashesAt(
  bytes: Uint8Array,
  places: Uint32Array,
  count: number,
  scale: number,
  window: number,
  hashes: Uint32Array,
): void {
  for (let n = 0; n < count; n++) {
    if (n % ahead === 0)
      for (let m = n; m < n + ahead && m < count; m++) touched ^= bytes[(places[m] ?? 0) * scale] ?? 0
    hashes[n] = hashWith(twice, bytes, (places[n] ?? 0) * scale, window)
  }
}

/** The same with {@link exactHash}. */
export function exactHashesAt(
  bytes: Uint8Array,
  places: Uint32Array,
  count: number,
  window: number,
  hashes: Uint32Array,
): void {
  for (let n = 0; n < count; n++) hashes[n] = exactHash(bytes, places[n] ?? 0, window)
}

/** Writes the hashes of windows that begin `stride` apart, from `start` on. */
export function sampleHashes(
  bytes: Uint8Array,
  start: number,
  count: number,
  stride: number,
  window: number,
  hashes: Uint32Array,
): void {
  for (let n = 0; n < count; n++) hashes[n] = hashWith(twice, bytes, start + n * stride, window)
}

/** Writes the hash of each window of the text that begins from `start` on to `hashes`; returns how many there are. */
export function windowHashes(
  bytes: Uint8Array,
  start: number,
  end: number,
  window: number,
  hashes: Uint32Array,
): number {
  const count = Math.min(end - start - window + 1, hashes.length)
  if (count <= 0) return 0
  let top = 1
  for (let n = 1; n < window; n++) top = Math.imul(top, base)
  let [forward, backward] = [0, 0]
  for (let i = start, j = start + window - 1; j >= start; i++, j--) {
    forward = (Math.imul(forward, base) + (twice[bytes[i] ?? 0] ?? 0)) | 0
    backward = (Math.imul(backward, base) + (twice[bytes[j] ?? 0] ?? 0)) | 0
  }
  hashes[0] = combine(forward, backward)
  for (let n = 1, at = start; n < count; n++, at++) {
    const out = twice[bytes[at] ?? 0] ?? 0
    const next = twice[bytes[at + window] ?? 0] ?? 0
    forward = (Math.imul((forward - Math.imul(out, top)) | 0, base) + next) | 0
    backward = (Math.imul((backward - out) | 0, baseInverse) + Math.imul(next, top)) | 0
    hashes[n] = combine(forward, backward)
  }
  return count
}

/** Calls back with a hash of every stretch of this length: letter case folded, in one direction. */
export function eachStretchHash(
  bytes: Uint8Array,
  length: number,
  stretch: number,
  visit: (at: number, hash: number) => void,
): void {
  if (length < stretch) return
  let top = 1
  for (let n = 1; n < stretch; n++) top = Math.imul(top, base)
  let hash = 0
  for (let i = 0; i < length; i++) {
    if (i >= stretch) hash = (hash - Math.imul(once[bytes[i - stretch] ?? 0] ?? 0, top)) | 0
    hash = (Math.imul(hash, base) + (once[bytes[i] ?? 0] ?? 0)) | 0
    if (i >= stretch - 1) visit(i - stretch + 1, hash)
  }
}
