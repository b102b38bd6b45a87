import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'

import { afterEach, expect, it, onTestFinished, vi } from 'vitest'

import { engineExports, memoryImport } from '../../src/engine/engine-exports.ts'
import { type Guest, GuestSyntaxError } from '../../src/engine/engine.ts'
import { guestBoot } from '../../src/engine/guest-boot.ts'
import { createQuickJs } from '../../src/engine/quickjs.ts'
import { trimWasm } from '../../src/engine/wasm-trim.ts'

const limits = { toolCalls: 9, argBytes: 1e6, outputBytes: 1e6, errorBytes: 100, logLength: 100, lineLength: 100 }

/** An engine and all memories created for it. */
async function engineAndMemories() {
  const made: WebAssembly.Memory[] = []
  const Memory = WebAssembly.Memory
  vi.spyOn(WebAssembly, 'Memory').mockImplementation(function (type) {
    const memory = new Memory(type)
    made.push(memory)
    return memory
  })
  return { made, prepare: await guests() }
}

async function guests(): Promise<() => Guest> {
  const file = await readFile(createRequire(import.meta.url).resolve('quickjs-wasi/quickjs.wasm'))
  const { bytes, pages } = trimWasm(file, engineExports, memoryImport)
  const code = { wasm: await WebAssembly.compile(Buffer.from(bytes)), pages }
  const engine = createQuickJs(code, { memoryBytes: 64 << 20, stackBytes: 256 << 10, boot: guestBoot })
  return () => engine.prepare()
}

function run(guest: Guest, body: string): string {
  guest.setup({ tools: [], limits })
  guest.watch({ stop: () => false, now: () => 0 })
  guest.start(`(async()=>{${body}})`, [1, 2, 3, 4])
  return guest.take()
}

const bytesOf = (memory: WebAssembly.Memory | undefined) => Buffer.from(memory?.buffer ?? new ArrayBuffer())

afterEach(() => vi.restoreAllMocks())

it('a disposed guest leaves zeroed memory, and the next guest starts from the same state', async () => {
  const { made, prepare } = await engineAndMemories()
  const first = prepare()
  const memory = made.at(-1)
  const asNew = Buffer.from(bytesOf(memory))
  expect(run(first, 'globalThis.secret = "to-be-kept ".repeat(9000); return secret.length')).toContain('99000')
  expect(bytesOf(memory).includes('to-be-kept to-be-kept')).toBe(true)
  first.dispose()
  expect(bytesOf(memory).equals(Buffer.alloc(asNew.length))).toBe(true)
  const count = made.length
  const second = prepare()
  expect(made).toHaveLength(count)
  expect(bytesOf(memory).equals(asNew)).toBe(true)
  expect(run(second, 'return typeof secret')).toContain('undefined')
})

it('a warmed guest uses the same fuel as a cold one', async () => {
  const { prepare } = await engineAndMemories()
  const polls = (early: boolean) => {
    const guest = prepare()
    if (early) guest.warm()
    guest.setup({ tools: [], limits })
    guest.warm()
    guest.warm()
    let fuel = 0
    guest.watch({ stop: () => ++fuel < 0, now: () => 0 })
    guest.start('(async()=>{ let sum = 0; for (let i = 0; i < 3e5; i++) sum += i; return sum })', [1, 2, 3, 4])
    expect(guest.take()).toContain('44999850000')
    guest.dispose()
    return fuel
  }
  const fuel = polls(true)
  expect(fuel).toBeGreaterThan(10)
  expect(polls(false)).toBe(fuel)
})

it('two guests never share a memory, and a grown memory is not reused', async () => {
  const { made, prepare } = await engineAndMemories()
  const first = prepare()
  const count = made.length
  const second = prepare()
  expect(made).toHaveLength(count + 1)
  run(second, 'return new Array(1e6).fill(1).length')
  second.dispose()
  second.dispose()
  const third = prepare()
  expect(made).toHaveLength(count + 2)
  first.dispose()
  first.dispose()
  prepare()
  prepare()
  expect(made).toHaveLength(count + 3)
  third.dispose()
})

it('grown memories are collected although V8 sees little heap pressure', async () => {
  const prepare = await guests()
  const left: WeakRef<WebAssembly.Memory>[] = []
  const { Memory } = WebAssembly
  onTestFinished(() => void Object.assign(WebAssembly, { Memory }))
  // A spy would keep references to them.
  class Noted extends Memory {
    constructor(type: WebAssembly.MemoryDescriptor) {
      super(type)
      left.push(new WeakRef(this))
    }
  }
  Object.assign(WebAssembly, { Memory: Noted })
  let most = 0
  for (let n = 0; n < 30; n++) {
    const guest = prepare()
    run(guest, 'return new Array(1e5).fill(1).length')
    guest.dispose()
    // A weak reference keeps its target alive until the end of the job that created or read it.
    await new Promise(setImmediate)
    most = Math.max(most, left.filter((memory) => memory.deref()).length)
    await new Promise(setImmediate)
  }
  expect(left.length).toBeGreaterThan(29)
  expect(most).toBeLessThan(8)
})

it('an error of a guest is read up to the limit for errors', async () => {
  const { prepare } = await engineAndMemories()
  const guest = prepare()
  const long = `'x'.repeat(1e6)`
  const body = `})\nthrow { name: 'SyntaxError', message: ${long}, stack: ${long} };(async () => {`
  let message = ''
  try {
    run(guest, body)
  } catch (error) {
    if (error instanceof GuestSyntaxError) ({ message } = error)
  }
  expect(message).toMatch(/^x+$/)
  expect(message.length).toBeLessThan(10_000)
})

it('cyclic garbage of a guest is collected before its memory is full', async () => {
  const { prepare } = await engineAndMemories()
  const guest = prepare()
  // More than its memory, or many times that.
  const lists = process.env['PROVOST_TEST_FULL'] === '1' ? 100 : 60
  const body = `for (let i = 0; i < ${lists}; i++) { const list = new Array(1e5).fill(i); list.push(list) } return "done"`
  expect(run(guest, body)).toContain('"ok"')
  expect(guest.memoryBytes).toBeLessThan(32 << 20)
})
