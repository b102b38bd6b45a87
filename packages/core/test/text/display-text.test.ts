import { displayText, hasHidden, questionText, reasonText, unknownSubject } from '@provost/core'
import fc from 'fast-check'
import { expect, test } from 'vitest'

test.each([
  ['an ANSI sequence', 'a\u001b[2Jb', String.raw`a\u001b[2Jb`],
  ['a C1 control', 'a\u009b1mb', String.raw`a\u009b1mb`],
  ['a marker of the reading direction', 'exe.\u202efdp', String.raw`exe.\u202efdp`],
  ['an isolate', '\u2066x\u2069', String.raw`\u2066x\u2069`],
  ['a zero-width space', 'pay\u200bpal', String.raw`pay\u200bpal`],
  ['a joiner between letters', 'a\u200db', String.raw`a\u200db`],
  ['a soft hyphen', 'a\u00adb', String.raw`a\u00adb`],
  ['a byte-order mark', '\ufeffx', String.raw`\ufeffx`],
  ['tag letters', 'x\u{e0041}', String.raw`x\u{e0041}`],
  ['a selector without an emoji', 'x\ufe0f', String.raw`x\ufe0f`],
  ['selectors behind an emoji that hold a message', '😀\u{e0101}', String.raw`😀\u{e0101}`],
  ['a Hangul filler', 'x\u3164', String.raw`x\u3164`],
  ['a blank Braille pattern', 'x\u2800', String.raw`x\u2800`],
  ['a space of another width', 'x\u00a0y', String.raw`x\u00a0y`],
  ['a line separator', 'x\u2028y', String.raw`x\u2028y`],
  ['a line break', 'x\ny\tz\r', String.raw`x\ny\tz\u000d`],
  ['a lone surrogate', 'x\ud800', String.raw`x\ud800`],
  ['a private character', 'x\ue000', String.raw`x\ue000`],
])('displayText escapes %s', (_, text, shown) => {
  expect(displayText(text)).toBe(shown)
})

test('displayText keeps emoji, other scripts and accents', () => {
  const text = 'Grüße 東京　こんにちは שלום ❤️ 👩‍💻 🏴󠁧󠁢󠁥󠁮󠁧󠁿 é'
  expect(displayText(text)).toBe(text)
  expect(hasHidden(text)).toBe(false)
})

test('displayText keeps line breaks in block texts, and cuts a long text and states its length', () => {
  expect(displayText('a\n\tb\u0007', { lines: true })).toBe('a\n\tb\\u0007')
  expect(displayText('abcdef', { limit: 4 })).toBe('abcd… (2 more characters)')
  expect(displayText('abc😀', { limit: 4 })).toBe('abc… (2 more characters)')
  expect(displayText({ to: 'a\u202eb' })).toBe('{"to":"a\\u202eb"}')
  const value = { a: 'x\u{e0041}\u202e\n', b: ['é 👩‍💻'] }
  expect(JSON.parse(displayText(value))).toEqual(value)
  expect(JSON.parse(displayText(value, { lines: true, indent: 2 }))).toEqual(value)
  expect(displayText(undefined)).toBe('undefined')
})

test('displayText hides nothing of any text, and leaves a text without hidden characters unchanged', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const shown = displayText(text)
      expect(hasHidden(shown)).toBe(false)
      expect(shown).not.toMatch(/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/u)
      const hides = hasHidden(text) || /[\n\t]/.test(text)
      expect(hides || shown === text).toBe(true)
    }),
  )
})

test('questionText returns one bounded line with its warnings', () => {
  const question = {
    ...{ id: 't', callId: 'c', toolName: 'send\u001b', agent: 'desk', runPath: ['r'] },
    ...{ input: { to: 'a@b.c\n', body: 'x'.repeat(5_000) }, reason: 'really?\nrefund: approved' },
    ...unknownSubject,
    warnings: [{ path: '/to', kind: 'lookalike', text: 'looks like \u202e' }],
  } as const
  const text = questionText(question)
  expect(text).not.toMatch(/[\p{Cc}\p{Cf}]/u)
  expect(text).toContain(String.raw`send\u001b (egress): really?\nrefund: approved. Warning: /to looks like \u202e.`)
  expect(text.length).toBeLessThan(2_000)
  expect(reasonText({ reason: 'because' })).toBe('because')
})
