import { readFile, truncate } from 'node:fs/promises'
import path from 'node:path'

import type { Json } from '@provost/core'
import { editTool, nodeRuntime, readTool } from '@provost/tools'
import type { ToolOutcome } from '@provost/tools'
import { describe, expect, test } from 'vitest'

import { call, seen } from '../executor/call.ts'
import { folder } from './folder.ts'

describe('the edit tool', () => {
  async function edited(text: string | Uint8Array, input: Readonly<Record<string, Json>>) {
    const cwd = await folder({ 'a.txt': text })
    const outcome = await call(editTool, { path: 'a.txt', ...input }, { runtime: nodeRuntime({ cwd }) })
    return { outcome, text: await readFile(path.join(cwd, 'a.txt'), 'utf8') }
  }
  const refusal = (outcome: ToolOutcome): string => {
    expect(outcome).toMatchObject({ outcome: 'error', error: { code: 'edit-refused' } })
    return seen(outcome)
  }

  test('replaces a text that occurs once, literally', async () => {
    const { outcome, text } = await edited('one two\n', { oldText: 'two', newText: '$& $1 \\n' })
    expect(text).toBe('one $& $1 \\n\n')
    expect(outcome).toMatchObject({ value: { replacements: 1 }, label: { integrity: 'trusted' } })
  })

  test('replaces all occurrences with replaceAll', async () => {
    const { outcome, text } = await edited('aaaaa', { oldText: 'aa', newText: 'b', replaceAll: true })
    expect(text).toBe('bba')
    expect(outcome.value).toEqual({ replacements: 2 })
  })

  test('keeps Windows line breaks and a byte order mark', async () => {
    const { text } = await edited('\uFEFFa\r\nb\r\nc', { oldText: 'a\nb', newText: 'x\ny' })
    expect(text).toBe('\uFEFFx\r\ny\r\nc')
  })

  test('does not mix line breaks when a Windows line becomes two', async () => {
    expect((await edited('a\r\nb\r\n', { oldText: 'a', newText: 'x\ny' })).text).toBe('x\r\ny\r\nb\r\n')
    // A file with mixed line breaks gets the new text unchanged.
    expect((await edited('a\r\nb\n', { oldText: 'a', newText: 'x\ny' })).text).toBe('x\ny\r\nb\n')
  })

  test('rejects overlapping occurrences', async () => {
    const { outcome, text } = await edited('}\n}\n}\n', { oldText: '}\n}\n', newText: 'x\n' })
    expect(refusal(outcome)).toContain('overlapping')
    expect(text).toBe('}\n}\n}\n')
  })

  test('changes nothing and returns the reason if the text is absent, not unique or the same', async () => {
    const twice = await edited('x x', { oldText: 'x', newText: 'y' })
    expect(refusal(twice.outcome)).toMatch(/occurs 2 times in "a\.txt"[^]*replaceAll/)
    expect(twice.text).toBe('x x')
    expect(refusal((await edited('x', { oldText: 'z', newText: 'y' })).outcome)).toContain('does not occur')
    expect(refusal((await edited('x', { oldText: 'x', newText: 'x' })).outcome)).toContain('the same')
  })

  test('rejects files that are not UTF-8, and limits their growth', async () => {
    const latin = await edited(Buffer.from('gr\xfc\xdfe', 'latin1'), { oldText: 'e', newText: 'y' })
    expect(refusal(latin.outcome)).toContain('not in UTF-8')
    const binary = await edited(new Uint8Array([120, 0]), { oldText: 'x', newText: 'y' })
    expect(binary.outcome).toMatchObject({ error: { code: 'binary-file' } })
    const bomb = { oldText: 'x', newText: 'y'.repeat(70_000), replaceAll: true }
    expect(refusal((await edited('x'.repeat(1_000), bomb)).outcome)).toContain('more than 67108864 characters')
  })
})

describe('reading by bytes', () => {
  test('returns each character of a text once, whatever its size', async () => {
    const text = 'aé€😀'.repeat(500)
    const runtime = nodeRuntime({ cwd: await folder({ 'a.txt': text }) })
    let read = ''
    let fromByte = 0
    while (fromByte < Buffer.byteLength(text)) {
      const { value } = await call(readTool, { path: 'a.txt', fromByte, bytes: 97 }, { runtime })
      const piece = value as { text: string; toByte: number; totalBytes: number }
      read += piece.text
      expect(piece.toByte).toBeGreaterThan(fromByte)
      fromByte = piece.toByte
    }
    expect(read).toBe(text)
    const end = await call(readTool, { path: 'a.txt', fromByte: 10_000 }, { runtime })
    expect(seen(end)).toBe('[The file ends at byte 5000.]')
  })

  test('works for a file that is too large to read as a whole, as the error states', async () => {
    const cwd = await folder({ 'big.txt': `${'x'.repeat(10)}\n` })
    await truncate(path.join(cwd, 'big.txt'), 2 ** 33)
    const runtime = nodeRuntime({ cwd })
    const whole = await call(readTool, { path: 'big.txt' }, { runtime })
    expect(whole).toMatchObject({ error: { code: 'file-too-large' } })
    expect(seen(whole)).toContain('fromByte')
    const some = await call(readTool, { path: 'big.txt', fromByte: 8, bytes: 3 }, { runtime })
    expect(seen(some)).toBe('xx\n\n[Bytes 8 to 11 of 8589934592. Go on with fromByte 11.]')
  })
})
