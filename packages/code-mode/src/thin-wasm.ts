/** The sections of a module that have to do with this; a section is its number, its size and its content. */
const exportSection = 7
const customSection = 0

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

/**
 * A WebAssembly module with fewer exports. An instance gets a function object for each of them, and of a C library, which
 * exports everything, that is half of what it costs to make one.
 */
export function withExports(module: Uint8Array, names: ReadonlySet<string>): Uint8Array {
  const head = 8
  const read = reader(module, head)
  const parts = [module.subarray(0, head)]
  while (read.at < module.length) {
    const id = read.byte()
    const content = read.take(read.number())
    if (id === customSection) continue
    const kept = id === exportSection ? exportsOf(content, names) : content
    parts.push(Uint8Array.of(id), numberBytes(kept.length), kept)
  }
  return Buffer.concat(parts)
}
