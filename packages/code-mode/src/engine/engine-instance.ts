import { type EngineExports, isEngine, memoryImport } from './engine-exports.ts'

/** The address of a guest value in the engine's memory. */
export type Box = number

/** What an instance calls in its host. */
export interface EngineSystem {
  /** Polled while the guest computes; `true` unwinds the guest. */
  interrupt(): boolean
  /** The time that the guest sees, in epoch ms. */
  now(): number
  /** The guest asked for the time of a clock other than the wall clock. */
  elapsed(): void
}

/** What the guest threw. */
export interface Thrown {
  readonly name: string
  readonly message: string
  readonly stack: string
}

/** Buffers that the host owns in an instance's memory. They are part of its image. */
export interface ArgumentArea {
  /** Short texts on their way into the guest. */
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

/** Bytes that are read of each text of a thrown value. This bounds every text derived from it. */
const thrownBytes = 8192

/** One instance of the engine. Values of the guest are boxes; the code that creates a box frees it. */
export interface EngineInstance {
  readonly exports: EngineExports
  readonly memory: WebAssembly.Memory
  text(text: string): Box
  /** Throws with `fault` when the guest has no memory left for the text. */
  textOf(box: Box): string
  /** Calls a function of the guest. Throws with `fault` when the function throws. */
  call(callee: Box, ...args: readonly Box[]): Box
  /** Runs source under the given file name. */
  run(source: string, file: string, strict: boolean): Box
  property(box: Box, name: string): Box
  free(box: Box): void
  /** Runs the pending jobs of the guest. */
  drain(): void
}

/** `qjs_eval` of a text in strict mode. */
const strictMode = 1 << 3

/** WASI errno values: a bad file descriptor, and an unsupported call. */
const [badFile, noFiles] = [8, 52]

function importsOf(memory: WebAssembly.Memory, system: EngineSystem): WebAssembly.Imports {
  const refuse = () => {
    throw new Error('The guest called a host function. It must not import any.')
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

/** Allocates the host's buffers in a new instance. */
export function newDesk(exports: EngineExports): ArgumentArea {
  return {
    text: exports.wasm_malloc(textBytes),
    args: exports.wasm_malloc(argsBytes),
    undefined: exports.qjs_get_undefined(),
    true: exports.qjs_get_true(),
    false: exports.qjs_get_false(),
  }
}

/** Creates an instance with this memory. `begin` starts the engine, or restores the image of a started one. */
export function engineInstance(
  wasm: WebAssembly.Module,
  memory: WebAssembly.Memory,
  options: {
    readonly system: EngineSystem
    begin(exports: EngineExports): ArgumentArea
    fault(thrown: Thrown): Error
  },
): EngineInstance {
  const { exports } = new WebAssembly.Instance(wasm, importsOf(memory, options.system))
  if (!isEngine(exports)) throw new TypeError('The engine does not have the expected exports.')
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
  /** Refreshes the views: memory that grew has another buffer. */
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
  /** Writes a text into the engine's memory, with a terminating 0. */
  const put = (text: string): { at: number; size: number } => {
    if (text.length * 3 < textBytes) {
      look()
      return ended(desk.text, bytes.write(text, desk.text))
    }
    // Most texts have one byte per character.
    const at = reserve(text.length + 1)
    const { read, written } = encoder.encodeInto(text, bytes.subarray(at, at + text.length))
    if (read === text.length) return ended(at, written)
    release(at)
    const size = Buffer.byteLength(text)
    const other = reserve(size + 1)
    return ended(other, bytes.write(text, other))
  }
  /** Returns undefined when the value has no text, or the guest has no memory left for it. */
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
    const text = message || (read(error, thrownBytes) ?? '')
    const fault = options.fault({ name: name ?? '', message: text, stack: stack ?? '' })
    qjs_free_value(error)
    return fault
  }
  const checked = (box: Box): Box => {
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
      return checked(box)
    },
    call(callee, ...given) {
      look()
      for (let i = 0; i < given.length; i++) words[args + i] = given[i] ?? 0
      return checked(qjs_call(callee, desk.undefined, given.length, desk.args))
    },
    run(source, file, strict) {
      const name = Buffer.from(`${file}\0`)
      const at = reserve(name.length)
      bytes.set(name, at)
      const text = put(source)
      const box = exports.qjs_eval(text.at, text.size, at, strict ? strictMode : 0)
      release(text.at)
      exports.wasm_free(at)
      return checked(box)
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
