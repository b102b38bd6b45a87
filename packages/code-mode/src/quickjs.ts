import { EvalFlags, JSException, QuickJS, type JSValueHandle, type QuickJSOptions, type Snapshot } from 'quickjs-wasi'

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

const parts = ['setup', 'start', 'deliver', 'take'] as const
type Part = (typeof parts)[number]

/** A guest after its boot, as an image of its memory: the next one starts from it. */
interface Booted {
  readonly image: Image
  readonly tokens: Readonly<Record<Part, number>>
}

interface Around {
  readonly options: Pick<QuickJSOptions, 'interruptHandler' | 'wasi'>
  watch(watch: GuestWatch): void
  memory(): ArrayBuffer
  gaveUp(): boolean
}

const nobody: GuestWatch = { stop: () => false, now: () => 0 }

/** What the engine asks its surroundings for. Before the watch is there, time stands still and nothing is stopped. */
function surroundings(): Around {
  let watch = nobody
  let stopped = false
  let gaveUp = false
  let linear: WebAssembly.Memory | undefined
  return {
    memory: () => linear?.buffer ?? new ArrayBuffer(0),
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
      wasi: (memory) => {
        linear = memory
        return {
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
      },
    },
  }
}

interface Image {
  readonly snapshot: Snapshot
  /** What of it a new instance does not have by itself. */
  readonly pages: readonly Page[]
}

/** Restores a snapshot once to see what an instance looks like before it. */
async function imageOf(snapshot: Snapshot, wasm: WebAssembly.Module): Promise<Image> {
  const { memory, options } = surroundings()
  let fresh: Uint8Array | undefined
  const curious: Snapshot = {
    ...snapshot,
    get memory() {
      fresh ??= new Uint8Array(memory()).slice()
      return snapshot.memory
    },
  }
  const vm = await QuickJS.restore(curious, { wasm, timezoneOffset: 0, ...options })
  vm.dispose()
  return { snapshot, pages: changedPages(fresh ?? new Uint8Array(), snapshot.memory) }
}

/**
 * The image as the engine takes it: it reads the memory for its size, grows its own, and copies. Once that is large
 * enough, only what changed is written, and nothing is left to copy: memory that is not touched costs nothing.
 */
function sparse({ snapshot, pages }: Image, memory: () => ArrayBuffer): Snapshot {
  const nothing = new Uint8Array()
  return {
    ...snapshot,
    get memory() {
      if (memory().byteLength < snapshot.memory.byteLength) return snapshot.memory
      const target = new Uint8Array(memory())
      for (const { at, bytes } of pages) target.set(bytes, at)
      return nothing
    },
  }
}

async function boot(wasm: WebAssembly.Module): Promise<Booted> {
  const vm = await QuickJS.create({ wasm, timezoneOffset: 0, ...surroundings().options })
  const booted = vm.evalCode(guestBoot, 'boot.js')
  const token = (part: Part) => vm.exportHandle(booted.getProp(part))
  const tokens = { setup: token('setup'), start: token('start'), deliver: token('deliver'), take: token('take') }
  return { image: await imageOf(vm.snapshot(), wasm), tokens }
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

function guestOf(vm: QuickJS, tokens: Booted['tokens'], around: Around): Guest {
  const known = new Map<Part, JSValueHandle>()
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
    setup(given, setup) {
      around.watch(given)
      const text = vm.newString(JSON.stringify(setup))
      vm.callFunction(part('setup'), vm.undefined, text).dispose()
      text.dispose()
    },
    start(source) {
      guarded(() => {
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
      return around.memory().byteLength
    },
    get gaveUp() {
      return around.gaveUp()
    },
    dispose: () => vm.dispose(),
  }
}

/** QuickJS in WebAssembly. It boots once; guests are copies of what that left in memory, and share nothing. */
export function createQuickJs(wasm: WebAssembly.Module): Engine {
  let booted: Promise<Booted> | undefined
  return {
    async prepare({ memoryBytes, stackBytes }: EngineOptions) {
      const { image, tokens } = await (booted ??= boot(wasm))
      const around = surroundings()
      const vm = await QuickJS.restore(sparse(image, around.memory), {
        wasm,
        memoryLimit: memoryBytes,
        maxStackSize: stackBytes,
        timezoneOffset: 0,
        ...around.options,
      })
      const guest = guestOf(vm, tokens, around)
      // The first touch of each page of new memory has to be waited for: better now than when there is a script.
      vm.evalCode('(async()=>{})()').dispose()
      guest.take()
      return guest
    },
  }
}
