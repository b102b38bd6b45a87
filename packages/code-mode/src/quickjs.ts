import { EvalFlags, JSException, QuickJS, type JSValueHandle, type QuickJSOptions, type Snapshot } from 'quickjs-wasi'

import { memoryImport } from './engine-exports.ts'
import {
  type Engine,
  type EngineOptions,
  type Guest,
  GuestStopped,
  GuestSyntaxError,
  type GuestWatch,
} from './engine.ts'
import { guestBoot } from './guest-boot.ts'
import { changedPages, type Page } from './memory-pages.ts'

/** A page of WebAssembly. */
const pageBytes = 65_536

const parts = ['setup', 'begin', 'start', 'deliver', 'take'] as const
type Part = (typeof parts)[number]

/** What a worker needs to make guests. */
export interface EngineCode {
  readonly wasm: WebAssembly.Module
  /** How much memory it starts with, in pages of 64 KiB. */
  readonly pages: number
}

/** A guest after its boot, as an image of its memory: the next one starts from it. */
interface Booted {
  readonly snapshot: Snapshot
  /** What of the image a new instance does not have by itself. */
  readonly pages: readonly Page[]
  readonly tokens: Readonly<Record<Part, number>>
}

interface Around {
  readonly options: Pick<QuickJSOptions, 'interruptHandler' | 'wasi' | 'timezoneOffset'>
  readonly memory: WebAssembly.Memory
  watch(watch: GuestWatch): void
  gaveUp(): boolean
}

const nobody: GuestWatch = { stop: () => false, now: () => 0 }

/** So much memory a guest has before it must ask for more, in bytes. */
const free = 512 << 10

/** The part of its memory that a guest fills before it looks for garbage in cycles; of all other it is rid at once. */
const unlooked = 1 / 8

/** What the engine asks its surroundings for. Before the watch is there, time stands still and nothing is stopped. */
function surroundings(memory: WebAssembly.Memory): Around {
  let watch = nobody
  let stopped = false
  let gaveUp = false
  const system = {
    clock_time_get(clock: number, _precision: bigint, at: number) {
      // The clock on the wall is 0. Scripts have no other; the guest asks another where it is to be stopped.
      gaveUp ||= clock !== 0
      new DataView(memory.buffer).setBigUint64(at, BigInt(Math.trunc(watch.now())) * 1_000_000n, true)
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
  }
  Object.defineProperty(system, memoryImport[1], { value: memory, enumerable: true })
  return {
    memory,
    gaveUp: () => gaveUp,
    watch(given) {
      watch = given
      gaveUp = false
    },
    options: {
      interruptHandler() {
        // The first time the script is unwound as by an error, and its log lines can still be had. But other jobs of it
        // may go on then: the second time leaves the engine from the middle.
        if (stopped) throw new GuestStopped('The script was stopped.')
        stopped = watch.stop() || (watch !== nobody && gaveUp)
        return stopped
      },
      wasi: () => system,
      timezoneOffset: 0,
    },
  }
}

/** The snapshot, of which not all is written: `write` is called when the library would. */
function restoredBy(snapshot: Snapshot, write: () => void): Snapshot {
  const nothing = new Uint8Array()
  let written = false
  return {
    ...snapshot,
    get memory() {
      if (!written) write()
      written = true
      return nothing
    },
  }
}

async function boot({ wasm, pages: initial }: EngineCode): Promise<Booted> {
  const first = surroundings(new WebAssembly.Memory({ initial }))
  const vm = await QuickJS.create({ wasm, ...first.options })
  const booted = vm.evalCode(guestBoot, 'boot.js')
  const token = (part: Part) => vm.exportHandle(booted.getProp(part))
  const tokens = {
    setup: token('setup'),
    begin: token('begin'),
    start: token('start'),
    deliver: token('deliver'),
    take: token('take'),
  }
  vm.evalCode(`new Uint8Array(${free})`).dispose()
  const snapshot = vm.snapshot()
  // To see what an instance looks like before.
  const second = surroundings(new WebAssembly.Memory({ initial: snapshot.memory.byteLength / pageBytes }))
  const image = new Uint8Array(second.memory.buffer)
  let pages: readonly Page[] = []
  const write = () => {
    pages = changedPages(image, snapshot.memory)
    image.set(snapshot.memory)
  }
  const other = await QuickJS.restore(restoredBy(snapshot, write), { wasm, ...second.options })
  other.dispose()
  return { snapshot, pages, tokens }
}

/** What the engine throws as one of ours: where it has no message it left from the middle, or could not even say why. */
function faultOf(error: unknown): Error {
  if (error instanceof GuestStopped) return error
  const text = error instanceof Error ? error.message : String(error)
  if (error instanceof JSException && error.name === 'SyntaxError') {
    const [, line, column] = /script\.ts:(\d+):(\d+)/.exec(error.stack ?? '') ?? []
    return new GuestSyntaxError(text, line ? Number(line) : undefined, column ? Number(column) : undefined)
  }
  return new GuestStopped(text, { cause: error })
}

function guestOf(vm: QuickJS, tokens: Booted['tokens'], around: Around, gone: () => void): Guest {
  const known = new Map<Part, JSValueHandle>()
  let alive = true
  const part = (name: Part) => {
    const found = known.get(name) ?? vm.importHandle(tokens[name])
    known.set(name, found)
    return found
  }
  const guarded = <T>(work: () => T): T => {
    try {
      return work()
    } catch (error) {
      throw faultOf(error)
    }
  }
  return {
    watch: around.watch,
    setup(setup) {
      const text = vm.newString(JSON.stringify(setup))
      vm.callFunction(part('setup'), vm.undefined, text).dispose()
      text.dispose()
    },
    start(source, seed) {
      guarded(() => {
        const numbers = seed.map((number) => vm.newNumber(number))
        vm.callFunction(part('begin'), vm.undefined, ...numbers).dispose()
        for (const number of numbers) number.dispose()
        const script = vm.evalCode(source, 'script.ts', EvalFlags.STRICT)
        vm.callFunction(part('start'), vm.undefined, script).dispose()
        script.dispose()
        vm.executePendingJobs()
      })
    },
    deliver({ id, ok, json }) {
      return guarded(() => {
        const number = vm.newNumber(id)
        const text = vm.newString(json)
        const answer = vm.callFunction(part('deliver'), vm.undefined, number, ok ? vm.true : vm.false, text)
        const found = answer.toBoolean()
        answer.dispose()
        number.dispose()
        text.dispose()
        vm.executePendingJobs()
        return found
      })
    },
    take() {
      return guarded(() => {
        const frame = vm.callFunction(part('take'), vm.undefined)
        const text = frame.toString()
        frame.dispose()
        return text
      })
    },
    get memoryBytes() {
      return around.memory.buffer.byteLength
    },
    get gaveUp() {
      return around.gaveUp()
    },
    dispose() {
      if (!alive) return
      alive = false
      vm.dispose()
      gone()
    },
  }
}

/**
 * QuickJS in WebAssembly. It boots once; guests are copies of what that left in memory, and share nothing. Of the memory
 * of a guest that is gone all is zero before another has it: it is as good as new, and need not be found page by page.
 */
export function createQuickJs(code: EngineCode): Engine {
  const { wasm } = code
  let booted: Promise<Booted> | undefined
  let wiped: WebAssembly.Memory | undefined
  return {
    async prepare({ memoryBytes, stackBytes }: EngineOptions) {
      const { snapshot, pages, tokens } = await (booted ??= boot(code))
      const size = snapshot.memory.byteLength
      const memory = wiped ?? new WebAssembly.Memory({ initial: size / pageBytes })
      wiped = undefined
      const around = surroundings(memory)
      const write = () => {
        const target = new Uint8Array(memory.buffer)
        for (const { at, bytes } of pages) target.set(bytes, at)
      }
      const vm = await QuickJS.restore(restoredBy(snapshot, write), {
        wasm,
        memoryLimit: memoryBytes,
        maxStackSize: stackBytes,
        ...around.options,
      })
      const guest = guestOf(vm, tokens, around, () => {
        // What has grown cannot shrink, and a guest would see that.
        if (memory.buffer.byteLength !== size) return
        new Uint8Array(memory.buffer).fill(0)
        wiped = memory
      })
      vm.gcThreshold = memoryBytes * unlooked
      // The first touch of each page of new memory has to be waited for: better now than when there is a script.
      vm.evalCode('(async()=>{})()').dispose()
      guest.take()
      return guest
    },
  }
}
