import { foldedTwice, rotated, folded } from '../text/canonical-text.ts'

/**
 * Hashes of windows of canonical text. A window, its reversal and its rot13 have the same hash, so one lookup finds all.
 * The tables are random, so that an attacker cannot write texts that collide.
 */
export interface ShingleHash {
  /** Characters in a window. */
  readonly window: number
  /** The values of a code as the last of a window, as the first one, and when it leaves the window. */
  readonly entering: Int32Array
  readonly first: Int32Array
  readonly left: Int32Array
}

const base = 0x9e3779b1 | 0
const random = crypto.getRandomValues(new Int32Array(256))
/** One for a letter and its rot13. */
const twice = Int32Array.from({ length: 256 }, (_, code) => random[foldedTwice[code] ?? 0] ?? 0)
const once = Int32Array.from({ length: 256 }, (_, code) => random[folded[code] ?? 0] ?? 0)
const turned = Int32Array.from({ length: 256 }, (_, code) => random[rotated[code] ?? 0] ?? 0)

/** Good bits at the top of a product go down to those that are not. */
function mix(sum: number): number {
  const product = Math.imul(sum ^ (sum >>> 15), 0x85ebca6b)
  return product ^ (product >>> 15)
}

/**
 * Returns a value that does not depend on the order of its arguments. It is not a sum, so that swapped pairs of letters
 * change it.
 */
function combine(forward: number, backward: number): number {
  return mix((forward + backward + Math.imul(forward, backward)) | 0)
}

/** Codes are rotated by one bit per place, so windows are distinct up to this length. */
export const longestWindow = 31

/** @param window how many characters one has, at most {@link longestWindow}. */
export function createShingleHash(window: number): ShingleHash {
  return {
    window,
    entering: twice,
    first: twice.map((code) => turn(code, window - 1)),
    left: twice.map((code) => turn(code, window)),
  }
}

/** Writes the hash of each window of the text that begins from `start` on to `hashes`; returns how many there are. */
export function windowHashes(
  { window, entering, first, left }: ShingleHash,
  bytes: Uint8Array,
  start: number,
  end: number,
  hashes: Int32Array,
): number {
  const count = Math.min(end - start - window + 1, hashes.length)
  if (count <= 0) return 0
  let [forward, backward] = [0, 0]
  for (let i = start, j = start + window - 1; j >= start; i++, j--) {
    forward = turnOnce(forward) ^ (entering[bytes[i] ?? 0] ?? 0)
    backward = turnOnce(backward) ^ (entering[bytes[j] ?? 0] ?? 0)
  }
  hashes[0] = combine(forward, backward)
  for (let n = 1, at = start; n < count; n++, at++) {
    const out = bytes[at] ?? 0
    const next = bytes[at + window] ?? 0
    forward = turnOnce(forward) ^ (left[out] ?? 0) ^ (entering[next] ?? 0)
    backward ^= entering[out] ?? 0
    backward = ((backward >>> 1) | (backward << 31)) ^ (first[next] ?? 0)
    hashes[n] = combine(forward, backward)
  }
  return count
}

/** Writes the hashes of windows that start `stride` apart, from `start` on. */
export function sampleHashes(
  { window, entering }: ShingleHash,
  bytes: Uint8Array,
  start: number,
  count: number,
  stride: number,
  hashes: Int32Array,
): void {
  for (let n = 0; n < count; n++) hashes[n] = hashAt(entering, bytes, start + n * stride, window)
}

/** Writes the hashes of the windows at the first places, each multiplied by `scale`. */
export function windowHashesAt(
  { window, entering }: ShingleHash,
  bytes: Uint8Array,
  places: Uint32Array,
  count: number,
  scale: number,
  hashes: Int32Array,
): void {
  for (let n = 0; n < count; n++) {
    if (n % ahead === 0)
      for (let m = n; m < n + ahead && m < count; m++) touched ^= bytes[(places[m] ?? 0) * scale] ?? 0
    hashes[n] = hashAt(entering, bytes, (places[n] ?? 0) * scale, window)
  }
}

function hashAt(entering: Int32Array, bytes: Uint8Array, at: number, window: number): number {
  let [forward, backward] = [0, 0]
  for (let i = at, j = at + window - 1; i < at + window; i++, j--) {
    forward = turnOnce(forward) ^ (entering[bytes[i] ?? 0] ?? 0)
    backward = turnOnce(backward) ^ (entering[bytes[j] ?? 0] ?? 0)
  }
  return combine(forward, backward)
}

function turnOnce(bits: number): number {
  return (bits << 1) | (bits >>> 31)
}

function turn(bits: number, by: number): number {
  return (bits << (by & 31)) | (bits >>> ((32 - by) & 31))
}

/**
 * Returns a hash that only true variants share. A {@link ShingleHash} also confuses some letters with their rot13.
 */
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
/** The result of a prefetch. It is kept so that the read is not optimised away. */
let touched = 0

/** Writes the {@link exactHash} at each of the first places. */
export function exactHashesAt(
  bytes: Uint8Array,
  places: Uint32Array,
  count: number,
  window: number,
  hashes: Int32Array,
): void {
  for (let n = 0; n < count; n++) hashes[n] = exactHash(bytes, places[n] ?? 0, window)
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
