import {
  type Box,
  type ArgumentArea,
  type EngineInstance,
  engineInstance,
  newDesk,
  type Thrown,
} from './engine-instance.ts'
import {
  type Engine,
  type EngineOptions,
  type Guest,
  GuestStopped,
  GuestSyntaxError,
  type GuestWatch,
} from './engine.ts'
import { cleanHeap } from './heap-cleanup.ts'
import { changedPages, type Page } from './memory-pages.ts'

/** The size of a WebAssembly page, in bytes. */
const pageBytes = 65_536

/** What a worker needs to create guests. */
export interface EngineCode {
  readonly wasm: WebAssembly.Module
  /** Initial memory, in pages of 64 KiB. */
  readonly pages: number
}

/** The functions that the boot code returns. */
type Parts = Readonly<Record<'setup' | 'begin' | 'start' | 'deliver' | 'take', Box>>

/** The memory image of a booted guest. Each new guest starts from it. */
interface Booted {
  /** The size of the image, in bytes. */
  readonly size: number
  /** The pages of the image that differ from a new instance. */
  readonly pages: readonly Page[]
  readonly desk: ArgumentArea
  readonly parts: Parts
  readonly runtime: number
  readonly context: number
  readonly stack: number
}

const unwatched: GuestWatch = { stop: () => false, now: () => 0 }

/** Memory that a guest has before it must grow, in bytes. */
const free = 512 << 10

/** The share of its memory that a guest fills before it collects cycles. Other garbage is freed at once. */
const unlooked = 1 / 8

/**
 * Converts a value thrown by the engine. Without a message, the engine was left during execution or could not report
 * why.
 */
function faultOf({ name, message, stack }: Thrown): Error {
  if (name !== 'SyntaxError') return new GuestStopped(message)
  const [, line, column] = /script\.ts:(\d+):(\d+)/.exec(stack) ?? []
  return new GuestSyntaxError(message, line ? Number(line) : undefined, column ? Number(column) : undefined)
}

/** Holds the watch of a guest. Before a watch is set, time stands still and no guest is stopped. */
function overseer() {
  let watch = unwatched
  let stopped = false
  let gaveUp = false
  return {
    watch(given: GuestWatch) {
      watch = given
      gaveUp = false
    },
    gaveUp: () => gaveUp,
    system: {
      interrupt() {
        // The first stop unwinds the script like an error, so that its log lines are still available. Other jobs may
        // continue then: the second stop leaves the engine during execution.
        if (stopped) throw new GuestStopped('The script was stopped.')
        stopped = watch.stop() || (watch !== unwatched && gaveUp)
        return stopped
      },
      // Scripts have the wall clock only.
      now: () => watch.now(),
      // Scripts have no other clock. The guest asks for one to be stopped.
      elapsed() {
        gaveUp = true
      },
    },
  }
}

function boot({ wasm, pages: initial }: EngineCode, code: string): Booted {
  let desk: ArgumentArea | undefined
  const { system } = overseer()
  const engine = engineInstance(wasm, new WebAssembly.Memory({ initial }), {
    system,
    fault: faultOf,
    begin(exports) {
      exports['_initialize']()
      if (exports.qjs_init() !== 0) throw new GuestStopped('The engine did not start.')
      return (desk = newDesk(exports))
    },
  })
  const { exports, memory } = engine
  const given = engine.run(code, 'boot.js', false)
  const part = (name: keyof Parts) => engine.property(given, name)
  const parts: Parts = {
    setup: part('setup'),
    begin: part('begin'),
    start: part('start'),
    deliver: part('deliver'),
    take: part('take'),
  }
  engine.free(engine.run(`new Uint8Array(${free})`, 'boot.js', false))
  if (!desk) throw new GuestStopped('The engine did not start.')
  const image = new Uint8Array(memory.buffer)
  // The memory of an instance before the image is applied.
  const fresh = new WebAssembly.Memory({ initial: image.byteLength / pageBytes })
  let pages: readonly Page[] = []
  const known = desk
  engineInstance(wasm, fresh, {
    system,
    fault: faultOf,
    begin() {
      pages = changedPages(new Uint8Array(fresh.buffer), image)
      return known
    },
  })
  return {
    size: image.byteLength,
    pages,
    desk,
    parts,
    runtime: exports.qjs_get_runtime_ptr(),
    context: exports.qjs_get_context_ptr(),
    stack: Number(exports['__stack_pointer'].value),
  }
}

function guestOf(
  { exports, memory, text, textOf, call, run, free: release, drain }: EngineInstance,
  { parts, desk }: Booted,
  watching: ReturnType<typeof overseer>,
  gone: () => void,
): Guest {
  let alive = true
  let warm = false
  const take = () => {
    const frame = call(parts.take)
    const json = textOf(frame)
    release(frame)
    return json
  }
  return {
    take,
    warm() {
      if (warm) return
      warm = true
      release(run('(async()=>{})()', 'boot.js', false))
      take()
    },
    watch: watching.watch,
    setup(setup) {
      const given = text(JSON.stringify(setup))
      release(call(parts.setup, given))
      release(given)
    },
    start(source, seed) {
      const numbers = seed.map((number) => exports.qjs_new_number(number))
      release(call(parts.begin, ...numbers))
      for (const number of numbers) release(number)
      const script = run(source, 'script.ts', true)
      release(call(parts.start, script))
      release(script)
      drain()
    },
    deliver({ id, ok, json }) {
      const number = exports.qjs_new_number(id)
      const given = text(json)
      const answer = call(parts.deliver, number, ok ? desk.true : desk.false, given)
      const found = exports.qjs_get_bool(answer) !== 0
      release(answer)
      release(number)
      release(given)
      drain()
      return found
    },
    get memoryBytes() {
      return memory.buffer.byteLength
    },
    get wasInterrupted() {
      return watching.gaveUp()
    },
    dispose() {
      if (!alive) return
      alive = false
      gone()
    },
  }
}

/** Bytes of garbage memories that have grown, above which the heap is collected. */
const mostLeft = 16 << 20

/**
 * QuickJS in WebAssembly. It boots once; each guest is a copy of the booted memory, and guests share nothing. The
 * memory of a disposed guest is zeroed before another guest receives it. It equals new memory, without the cost of new
 * pages.
 */
export function createQuickJs(code: EngineCode, { memoryBytes, stackBytes, boot: bootCode }: EngineOptions): Engine {
  let booted: Booted | undefined
  let wiped: WebAssembly.Memory | undefined
  let left = 0
  /** No run waits when a guest is disposed: a good time to collect the garbage of earlier guests. */
  function leave(bytes: number): void {
    left += bytes
    if (left < mostLeft) return
    left = 0
    cleanHeap()
  }
  return {
    prepare(): Guest {
      const image = (booted ??= boot(code, bootCode))
      const initial = image.size / pageBytes
      // The engine counts allocated memory, without the unused gaps between.
      const maximum = initial + Math.ceil(memoryBytes / pageBytes)
      const memory = wiped ?? new WebAssembly.Memory({ initial, maximum })
      wiped = undefined
      const watching = overseer()
      const engine = engineInstance(code.wasm, memory, {
        system: watching.system,
        fault: faultOf,
        begin(exports) {
          const target = new Uint8Array(memory.buffer)
          for (const { at, bytes } of image.pages) target.set(bytes, at)
          exports.qjs_set_runtime_and_context(image.runtime, image.context)
          exports['__stack_pointer'].value = image.stack
          exports.qjs_set_memory_limit(memoryBytes)
          exports.qjs_set_max_stack_size(stackBytes)
          exports.qjs_set_interrupt_handler(1)
          exports.qjs_set_gc_threshold(memoryBytes * unlooked)
          return image.desk
        },
      })
      return guestOf(engine, image, watching, () => {
        // Memory that has grown cannot shrink, and a guest would see that.
        if (memory.buffer.byteLength !== image.size) return leave(memory.buffer.byteLength)
        new Uint8Array(memory.buffer).fill(0)
        wiped = memory
      })
    },
  }
}
