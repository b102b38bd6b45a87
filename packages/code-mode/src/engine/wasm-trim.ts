/** The relevant sections of a module. A section is its number, its size and its content. */
const customSection = 0
const importSection = 2
const memorySection = 5
const exportSection = 7

/** The kind number of a memory import. */
const memoryKind = 2

const headLength = 8

/** Encodes an integer as LEB128, seven bits to a byte. */
function numberBytes(value: number): Uint8Array {
  const bytes: number[] = []
  let rest = value
  do {
    bytes.push((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0))
    rest >>>= 7
  } while (rest > 0)
  return Uint8Array.from(bytes)
}

function reader(bytes: Uint8Array, start: number) {
  let at = start
  return {
    get at() {
      return at
    },
    byte() {
      const byte = bytes[at++]
      if (byte === undefined) throw new RangeError('The WebAssembly module is truncated.')
      return byte
    },
    number(): number {
      let value = 0
      for (let shift = 0; ; shift += 7) {
        const byte = this.byte()
        value |= (byte & 0x7f) << shift
        if (byte < 0x80) return value >>> 0
      }
    },
    take(length: number): Uint8Array {
      at += length
      return bytes.subarray(at - length, at)
    },
  }
}

function sectionsOf(module: Uint8Array): { readonly id: number; readonly content: Uint8Array }[] {
  const read = reader(module, headLength)
  const sections: { id: number; content: Uint8Array }[] = []
  while (read.at < module.length) sections.push({ id: read.byte(), content: read.take(read.number()) })
  return sections
}

/** Returns the content of the export section, reduced to these names. */
function exportsOf(content: Uint8Array, names: ReadonlySet<string>): Uint8Array {
  const read = reader(content, 0)
  const kept: Uint8Array[] = []
  for (let left = read.number(); left > 0; left--) {
    const from = read.at
    const name = Buffer.from(read.take(read.number())).toString()
    read.byte()
    read.number()
    if (names.has(name)) kept.push(content.subarray(from, read.at))
  }
  return Buffer.concat([numberBytes(kept.length), ...kept])
}

/** Returns the content of the import section, with a memory of this type added. */
function importsWith(content: Uint8Array, memory: Uint8Array, [from, name]: readonly [string, string]): Uint8Array {
  const read = reader(content, 0)
  const count = numberBytes(read.number() + 1)
  const text = (word: string) => [numberBytes(word.length), Buffer.from(word)]
  const imports = content.subarray(read.at)
  return Buffer.concat([count, imports, ...text(from), ...text(name), Uint8Array.of(memoryKind), memory])
}

/** A module that imports its memory, and the size of that memory in pages of 64 KiB. */
export interface TrimmedWasm {
  readonly bytes: Uint8Array
  readonly pages: number
}

/**
 * Reduces a WebAssembly module to the given exports and makes it import its memory. An instance creates a function
 * object for each export. For a C library, which exports everything, that is half the cost of an instance. A memory of
 * its own costs as much again, since the system maps each page that is touched.
 */
export function trimWasm(
  module: Uint8Array,
  exported: ReadonlySet<string>,
  memory: readonly [from: string, name: string],
): TrimmedWasm {
  const sections = sectionsOf(module)
  const own = sections.find(({ id }) => id === memorySection)
  if (!own) throw new RangeError('The WebAssembly module does not define a memory.')
  const parts = [module.subarray(0, headLength)]
  for (const { id, content } of sections) {
    if (id === customSection || id === memorySection) continue
    let kept = content
    if (id === exportSection) kept = exportsOf(content, exported)
    if (id === importSection) kept = importsWith(content, own.content.subarray(1), memory)
    parts.push(Uint8Array.of(id), numberBytes(kept.length), kept)
  }
  // The number of memories, which is 1; whether there is an upper limit; then the size.
  return { bytes: Buffer.concat(parts), pages: reader(own.content, 2).number() }
}
