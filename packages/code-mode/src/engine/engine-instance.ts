import { type EngineExports, isEngine, memoryImport } from './engine-exports.ts'

/** A value of the guest: where the engine keeps it. */
export type Box = number

/** What an instance asks its surroundings for. */
export interface EngineSystem {
  /** Polled while the guest computes; true unwinds it. */
  interrupt(): boolean
  /** What time it is for the guest, epoch ms. */
  now(): number
  /** It asked for the time of a clock that is not the one on the wall. */
  elapsed(): void
}

/** What the guest threw. */
export interface Thrown {
  readonly name: string
  readonly message: string
  readonly stack: string
}

/** Places in the memory of an instance that are ours: they are part of its image. */
export interface Desk {
  /** Texts that are not long, on their way in. */
  readonly text: number
  /** The arguments of a call, and the length of a text on its way out. */
  readonly args: number
  readonly undefined: Box
  readonly true: Box
  readonly false: Box
}

const encoder = new TextEncoder()

const textBytes = 8192
const argsBytes = 32

/** So much is read of each text of what a guest threw, in bytes: all that is made of it is as long. */
const thrownBytes = 8192

/** One instance of the engine: values of the guest are boxes here, and who makes one frees it. */
export interface EngineInstance {
  readonly exports: EngineExports
  readonly memory: WebAssembly.Memory
  text(text: string): Box
  /** Throws with `fault` where there is no memory left for it. */
  textOf(box: Box): string
  /** Calls a function of the guest. Throws with `fault` where it throws. */
  call(callee: Box, ...args: readonly Box[]): Box
  /** Runs source as the file of that name. */
  run(source: string, file: string, strict: boolean): Box
  property(box: Box, name: string): Box
  free(box: Box): void
  /** Does what the guest has left to do. */
  drain(): void
}

/** `qjs_eval` of a text in strict mode. */
const strictMode = 1 << 3

/** There is no such file, or no files at all. */
const [badFile, noFiles] = [8, 52]

function importsOf(memory: WebAssembly.Memory, system: EngineSystem): WebAssembly.Imports {
  const refuse = () => {
    throw new Error('The guest has no function of the host.')
  }
  return {
    env: {
      host_call: refuse,
      host_interrupt: () => (system.interrupt() ? 1 : 0),
      host_promise_rejection: refuse,
      host_module_normalize: refuse,
      host_module_load: () => 0,
      host_get_timezone_offset: () => 0,
    },
    [memoryImport[0]]: {
      [memoryImport[1]]: memory,
      clock_time_get(clock: number, _precision: bigint, at: number) {
        if (clock !== 0) system.elapsed()
        new DataView(memory.buffer).setBigUint64(at, BigInt(Math.trunc(system.now())) * 1_000_000n, true)
        return 0
      },
      random_get(at: number, length: number) {
        new Uint8Array(memory.buffer, at, length).fill(7)
        return 0
      },
      fd_write(_file: number, _texts: number, _count: number, written: number) {
        new DataView(memory.buffer).setUint32(written, 0, true)
        return 0
      },
      fd_close: () => noFiles,
      fd_fdstat_get: () => badFile,
      fd_seek: () => noFiles,
    },
  }
}

/** Sets up the places of a new instance. */
export function newDesk(exports: EngineExports): Desk {
  return {
    text: exports.wasm_malloc(textBytes),
    args: exports.wasm_malloc(argsBytes),
    undefined: exports.qjs_get_undefined(),
    true: exports.qjs_get_true(),
    false: exports.qjs_get_false(),
  }
}

/** Makes an instance with this memory, in which `begin` starts the engine or puts the image of one that was started. */
export function engineInstance(
  wasm: WebAssembly.Module,
  memory: WebAssembly.Memory,
  options: {
    readonly system: EngineSystem
    begin(exports: EngineExports): Desk
    fault(thrown: Thrown): Error
  },
): EngineInstance {
  const { exports } = new WebAssembly.Instance(wasm, importsOf(memory, options.system))
  if (!isEngine(exports)) throw new TypeError('The engine is another one than it was.')
  const desk = options.begin(exports)
  const {
    qjs_call,
    qjs_execute_pending_job,
    qjs_free_cstring,
    qjs_free_value,
    qjs_get_string_len,
    qjs_is_exception,
    qjs_new_string,
  } = exports
  const args = desk.args >> 2
  let bytes = Buffer.from(memory.buffer)
  let words = new Int32Array(memory.buffer)
  /** What has grown has another buffer. */
  const look = () => {
    if (words.length > 0) return
    bytes = Buffer.from(memory.buffer)
    words = new Int32Array(memory.buffer)
  }
  const reserve = (size: number): number => {
    const at = exports.wasm_malloc(size)
    if (at === 0) throw options.fault({ name: '', message: 'out of memory', stack: '' })
    look()
    return at
  }
  const release = (at: number) => {
    if (at !== desk.text) exports.wasm_free(at)
  }
  const ended = (at: number, size: number) => {
    bytes[at + size] = 0
    return { at, size }
  }
  /** Puts a text where the engine can read it, with a 0 after it. */
  const put = (text: string): { at: number; size: number } => {
    if (text.length * 3 < textBytes) {
      look()
      return ended(desk.text, bytes.write(text, desk.text))
    }
    // Most texts have one byte for each character.
    const at = reserve(text.length + 1)
    const { read, written } = encoder.encodeInto(text, bytes.subarray(at, at + text.length))
    if (read === text.length) return ended(at, written)
    release(at)
    const size = Buffer.byteLength(text)
    const other = reserve(size + 1)
    return ended(other, bytes.write(text, other))
  }
  /** Nothing where the value has no text, or where there is no memory left for it. */
  const read = (box: Box, most = Infinity): string | undefined => {
    const at = qjs_get_string_len(box, desk.args)
    look()
    if (at === 0) return undefined
    const text = bytes.toString('utf8', at, at + Math.min(words[args] ?? 0, most))
    qjs_free_cstring(at)
    return text
  }
  const property = (box: Box, name: string): Box => exports.qjs_get_prop_string(box, put(name).at)
  const propertyText = (box: Box, name: string): string => {
    const found = property(box, name)
    const text = exports.qjs_is_undefined(found) === 0 ? (read(found, thrownBytes) ?? '') : ''
    qjs_free_value(found)
    return text
  }
  const thrown = (): Error => {
    const error = exports.qjs_get_exception()
    const [name, message, stack] = ['name', 'message', 'stack'].map((part) => propertyText(error, part))
    const said = message || (read(error, thrownBytes) ?? '')
    const fault = options.fault({ name: name ?? '', message: said, stack: stack ?? '' })
    qjs_free_value(error)
    return fault
  }
  const sound = (box: Box): Box => {
    if (qjs_is_exception(box) !== 0) throw thrown()
    return box
  }
  return {
    exports,
    memory,
    property,
    textOf(box) {
      const text = read(box)
      if (text === undefined) throw thrown()
      return text
    },
    free: qjs_free_value,
    text(text) {
      const { at, size } = put(text)
      const box = qjs_new_string(at, size)
      release(at)
      return sound(box)
    },
    call(callee, ...given) {
      look()
      for (let i = 0; i < given.length; i++) words[args + i] = given[i] ?? 0
      return sound(qjs_call(callee, desk.undefined, given.length, desk.args))
    },
    run(source, file, strict) {
      const name = Buffer.from(`${file}\0`)
      const at = reserve(name.length)
      bytes.set(name, at)
      const text = put(source)
      const box = exports.qjs_eval(text.at, text.size, at, strict ? strictMode : 0)
      release(text.at)
      exports.wasm_free(at)
      return sound(box)
    },
    drain() {
      for (;;) {
        const done = qjs_execute_pending_job()
        if (done === 0) return
        if (done < 0) throw thrown()
      }
    },
  }
}
