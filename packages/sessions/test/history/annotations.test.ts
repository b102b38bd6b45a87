import { sanitizeAnnotations } from '@provost/sessions'
import fc from 'fast-check'
import { expect, test } from 'vitest'

test('sanitizeAnnotations removes reasoning in every form and leaves other texts unchanged', () => {
  expect(sanitizeAnnotations('a <b>bold</b> claim at 10:30')).toBe('a <b>bold</b> claim at 10:30')
  expect(sanitizeAnnotations('x<think>a<think>b</think>c</think>y')).toBe('xy')
  expect(sanitizeAnnotations('thought of in the prompt</think>Yes.')).toBe('Yes.')
  expect(sanitizeAnnotations('Yes.<tool_call>{"name":"x"}')).toBe('Yes.')
  expect(
    sanitizeAnnotations(
      '<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>commentary to=functions.x <|constrain|>json<|message|>{}<|call|><|start|>assistant<|channel|>final<|message|>Yes.<|return|>',
    ),
  ).toBe('Yes.')
  fc.assert(
    fc.property(
      fc.array(
        fc.constantFrom('<think>', '</think>', '<|message|>', '<|channel|>', '⟦secret:', '⟧', 'a', '\n', ' at ', '<'),
        { maxLength: 30 },
      ),
      (pieces) => {
        const once = sanitizeAnnotations(pieces.join(''))
        expect(once).not.toMatch(/<think>|⟦secret:[^⟦⟧]*⟧/)
      },
    ),
    { numRuns: 200 },
  )
})
