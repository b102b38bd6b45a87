import { expect, test } from 'vitest'

import { neutralise, oneLine, palette, printableJson } from '../src/terminal.ts'

const hostile = '\u001b[2J\u001b]0;title\u0007\u009b31m\r\b\u007f\u202eabc\u2066\u200b\u2028\ufeff\u{e0041}'

test('escape sequences, control characters and invisible characters do not reach the terminal', () => {
  const safe = neutralise(hostile)
  // oxlint-disable-next-line no-control-regex
  expect(safe).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200b\u2028\u202a-\u202e\u2066\ufeff]/)
  expect(safe).toContain(String.raw`\u001b[2J`)
  expect(safe).toContain('abc')
})

test('ordinary text of any script is unchanged', () => {
  const text = 'Grüße, 価格, שלום, 👩‍💻, naïve – “quoted”\nsecond line'
  expect(neutralise(text)).toBe(text)
})

test('JSON lines have the same value without a raw control character', () => {
  const line = printableJson({ text: hostile, plain: 'é\n' })
  // oxlint-disable-next-line no-control-regex
  expect(line).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u200b\u2028\u202e\ufeff]/)
  expect(JSON.parse(line)).toEqual({ text: hostile, plain: 'é\n' })
})

test('a line stays one line, cut at whole characters', () => {
  expect(oneLine('a\n b\t c', 20)).toBe('a b c')
  expect(oneLine('👩👩👩👩', 3)).toBe('👩👩…')
  expect(oneLine('x'.repeat(1_000_000), 5)).toBe('xxxx…')
})

test('without colours the text has no escape sequences', () => {
  expect(palette(false).red('x')).toBe('x')
  expect(palette(true).red('x')).toBe('\u001b[31mx\u001b[39m')
})
