/** A range of a memory image. */
export interface Page {
  readonly at: number
  readonly bytes: Uint8Array
}

/** The page size of the operating system, in bytes. */
const pageBytes = 4096

/** Returns the pages of an image that differ from `fresh`. Memory beyond the end of `fresh` counts as zero. */
export function changedPages(fresh: Uint8Array, image: Uint8Array): readonly Page[] {
  const changed: { at: number; end: number }[] = []
  const zero = new Uint8Array(pageBytes)
  for (let at = 0; at < image.byteLength; at += pageBytes) {
    const end = Math.min(at + pageBytes, image.byteLength)
    const before = at < fresh.byteLength ? fresh.subarray(at, end) : zero.subarray(0, end - at)
    if (Buffer.compare(before, image.subarray(at, end)) === 0) continue
    const last = changed.at(-1)
    if (last?.end === at) last.end = end
    else changed.push({ at, end })
  }
  return changed.map(({ at, end }) => ({ at, bytes: image.slice(at, end) }))
}
