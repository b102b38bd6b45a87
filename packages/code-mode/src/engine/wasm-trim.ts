/** The sections of a module that have to do with this; a section is its number, its size and its content. */
const customSection = 0
const importSection = 2
const memorySection = 5
const exportSection = 7

/** What an import of memory is called. */
const memoryKind = 2

const headLength = 8

/** A whole number as WebAssembly writes it, seven bits to a byte. */
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
      if (byte === undefined) throw new RangeError('A WebAssembly module ends too early.')
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

/** The exports of a module that are kept, as the content of its section. */
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

/** The imports of a module, and besides a memory of this type, as the content of their section. */
function importsWith(content: Uint8Array, memory: Uint8Array, [from, name]: readonly [string, string]): Uint8Array {
  const read = reader(content, 0)
  const count = numberBytes(read.number() + 1)
  const text = (word: string) => [numberBytes(word.length), Buffer.from(word)]
  const imports = content.subarray(read.at)
  return Buffer.concat([count, imports, ...text(from), ...text(name), Uint8Array.of(memoryKind), memory])
}

/** A module that is given its memory, and of how many pages of 64 KiB that has to be. */
export interface TrimmedWasm {
  readonly bytes: Uint8Array
  readonly pages: number
}

/**
 * A WebAssembly module with fewer exports, that has its memory from outside. An instance gets a function object for each
 * export, and of a C library, which exports everything, that is half of what it costs to make one. A memory of its own
 * costs as much again, since the system has to find each page that is touched.
 */
export function trimWasm(
  module: Uint8Array,
  exported: ReadonlySet<string>,
  memory: readonly [from: string, name: string],
): TrimmedWasm {
  const sections = sectionsOf(module)
  const own = sections.find(({ id }) => id === memorySection)
  if (!own) throw new RangeError('A WebAssembly module has no memory of its own.')
  const parts = [module.subarray(0, headLength)]
  for (const { id, content } of sections) {
    if (id === customSection || id === memorySection) continue
    let kept = content
    if (id === exportSection) kept = exportsOf(content, exported)
    if (id === importSection) kept = importsWith(content, own.content.subarray(1), memory)
    parts.push(Uint8Array.of(id), numberBytes(kept.length), kept)
  }
  // A count of memories, which is 1, and whether it has an upper limit; then its size.
  return { bytes: Buffer.concat(parts), pages: reader(own.content, 2).number() }
}
