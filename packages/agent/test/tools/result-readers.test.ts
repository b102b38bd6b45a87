import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import type { ResultReader } from '@provost/tools'
import * as fc from 'fast-check'
import { afterEach, describe, expect, it, vi } from 'vitest'

import { agentOf, outputs, read, settled } from './result-scenario.ts'

const pages = Array.from({ length: 50 }, (_, index) => `page ${index + 1}\r\n`).join('')
const bytesOf = (text: string): ResultReader => {
  const bytes = Buffer.from(text)
  return (_, { from, to }) => bytes.subarray(from, to)
}

/** Reads by these ranges through this reader, and gives what the model saw. */
async function ask(reader: ResultReader, ...inputs: readonly object[]): Promise<string[][]> {
  const calls = inputs.map((input) => read({ handle: 'docs://guide', ...input }))
  const model = scriptedModel([{ toolCalls: calls }, { text: 'done' }])
  return outputs(await agentOf({ model, resultReaders: { docs: reader } }).run('go'))
}

describe('a handle that is a URI', () => {
  it('is read through the reader of its scheme, range by range', async () => {
    const asked: unknown[] = []
    const reader: ResultReader = (uri, range) => {
      asked.push([uri, range])
      return pages.slice(range.from, range.to)
    }
    const answers = await ask(reader, { bytes: { from: 0, to: 6 } }, { bytes: { from: 432 } }, { handle: 'DOCS:a' })
    expect(asked).toEqual([
      ['docs://guide', { from: 0, to: 6 }],
      ['docs://guide', { from: 432, to: 432 + 32_768 }],
      ['DOCS:a', { from: 0, to: 32_768 }],
    ])
    expect(answers.slice(0, 2)).toEqual([
      ['page 1', '[Bytes 0 to 6. Go on with bytes from 6.]'],
      ['page 50\r\n', expect.stringContaining('This is the end.')],
    ])
  })

  it('is read by lines', async () => {
    const answers = await ask(
      bytesOf(pages),
      { lines: { from: 2, to: 3 } },
      { lines: { from: 50 } },
      { lines: { from: 51 } },
    )
    expect(answers).toEqual([
      ['page 2\r\npage 3\r\n', `[Lines 2 to 3 of 50, bytes 8 to 24 of ${pages.length}. Go on with lines from 4.]`],
      ['page 50\r\n', expect.stringContaining('This is the end.')],
      [`[Nothing is there: it has ${pages.length} bytes and 50 lines.]`],
    ])
  })

  it('gives whole characters, wherever its bytes are cut', async () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'ß', '語', '😀'), minLength: 1, maxLength: 40 })
    const property = fc.asyncProperty(text, fc.array(fc.nat(160), { maxLength: 6 }), async (whole, at) => {
      const points = [0, ...at.toSorted((a, b) => a - b), 200]
      const ranges = points.slice(1).map((to, index) => ({ bytes: { from: points[index] ?? 0, to } }))
      const slices = await ask(bytesOf(whole), ...ranges)
      expect(slices.map((slice) => (slice.length > 1 ? slice[0] : '')).join('')).toBe(whole)
    })
    await fc.assert(property)
  })

  it('is unknown where no reader has its scheme', async () => {
    const handles = ['file:///etc/passwd', '__proto__:x', 'constructor:x', 'no scheme']
    const answers = await ask(() => 'never', ...handles.map((handle) => ({ handle })))
    for (const [answer] of answers) expect(answer).toContain('There is no result with the handle')
  })

  it('returns untrusted content', async () => {
    const store = memoryStore()
    const model = scriptedModel([{ toolCalls: [read({ handle: 'docs:x' })] }, { text: 'done' }])
    const { sessionId } = await agentOf({ store, model, resultReaders: { docs: () => 'hello' } }).run('go')
    expect((await settled(store, sessionId)).map(({ label }) => label)).toEqual([
      { integrity: 'untrusted', confidentiality: 'internal', sources: ['resource:docs'] },
    ])
  })
})

describe('a reader', () => {
  afterEach(() => void vi.useRealTimers())

  it.each<[string, ResultReader, string]>([
    [
      'throws',
      () => {
        throw new Error('x'.repeat(10_000))
      },
      '"docs://guide" cannot be read: xxx',
    ],
    ['rejects', () => Promise.reject(new Error('offline')), '"docs://guide" cannot be read: offline'],
    ['gives too much', () => pages.repeat(1_000), 'returned 441000 bytes for a range of 10'],
    ['gives what is no text', () => new Uint8Array([0x89, 0x50, 0xff, 0xfe, 0x00]), 'is not text in UTF-8'],
    ['gives nothing', () => JSON.parse('{}'), 'neither text nor bytes'],
  ])('that %s is a bounded error', async (_, reader, message) => {
    const [[answer = ''] = []] = await ask(reader, { bytes: { from: 0, to: 10 } })
    expect(answer).toContain(message)
    expect(answer.length).toBeLessThan(5_000)
  })

  it('that hangs is given up', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const called = Promise.withResolvers<void>()
    const answers = ask(() => (called.resolve(), new Promise<string>(() => {})), {})
    await called.promise
    await vi.advanceTimersByTimeAsync(15_000)
    expect((await answers)[0]?.[0]).toContain('"docs://guide" gave nothing within 15000 ms.')
  })

  it.each([
    [{ resultReaders: [] }, 'that are not an object'],
    [{ resultReaders: { 'docs:': () => '' } }, '"docs:", which is not a lower-case scheme'],
    [{ resultReaders: { docs: 'x' } }, 'docs that is not a function'],
  ])('%j is refused', (options, message) => {
    expect(() => agentOf(JSON.parse(JSON.stringify({ name: 'a' }), () => options))).toThrow(message)
  })
})
