import type { LanguageModelV4Prompt } from '@ai-sdk/provider'
import { expect, test } from 'vitest'

import { nextStep } from '../src/offline/role.ts'
import { findRules } from '../src/policies.ts'
import { proofread } from '../src/team/corrector.ts'

const asked = (instructions: string, text: string): LanguageModelV4Prompt => [
  { role: 'system', content: instructions },
  { role: 'user', content: [{ type: 'text', text }] },
]
const brief = { name: 'Ann', points: ['Order 17 is late.', 'It comes on 2026-11-30.'] }

test('find_rules returns matching rules, best match first', () => {
  expect(findRules('How many days for faulty goods?')[0]?.title).toBe('Faulty goods')
  expect(findRules('xyz')).toEqual([])
})

test('the proofreader requires the numbers of the brief and a signature, and rejects new addresses', () => {
  const letter = 'Dear Ann,\n\nOrder 17 is late.\n\nTallow Lane Supply'
  expect(proofread(letter, brief.points)).toMatchObject({ accepted: false, feedback: 'Say 2026-11-30.' })
  expect(proofread(letter, ['Order 17 is late.'])).toMatchObject({ accepted: true })
  expect(proofread(letter.replace('late', 'at http://x.example/17'), ['Order 17']).feedback).toContain('Leave out http')
  expect(proofread('17', ['17']).feedback).toBe('Sign as Tallow Lane Supply.')
})

test('each offline writer includes every point in its own style', () => {
  const warm = nextStep(asked('You are the warm writer of a shop.', JSON.stringify(brief))).text
  const plain = nextStep(asked('You are the plain writer of a shop.', JSON.stringify(brief))).text
  expect(warm).toBe('Dear Ann,\n\nOrder 17 is late.\n\nIt comes on 2026-11-30.\n\nKind regards')
  expect(plain).toBe('Hello Ann,\n\nOrder 17 is late.\n\nIt comes on 2026-11-30.')
})

test('the offline editor omits what only one draft contains', () => {
  const drafts = ['Dear Ann,\n\nIt is late.\n\nWe give you 50 EUR.\n\nKind regards', 'Hello Ann,\n\nIt is late.']
  const lines = drafts.map((answer, n) => JSON.stringify({ key: `${n}`, answer }))
  const { text } = nextStep(asked('You are the editor of a shop.', ['Make one answer of these:', ...lines].join('\n')))
  expect(text).toBe('Dear Ann,\n\nIt is late.\n\nKind regards')
})

test('the offline corrector keeps a good letter, and fixes what the feedback names', () => {
  const input = JSON.stringify({ ...brief, letter: 'Dear Ann,\n\nOrder 17 is late.\n\nKind regards' })
  const first = asked('You are the corrector of a shop.', input)
  expect(nextStep(first).text).toBe('Dear Ann,\n\nOrder 17 is late.\n\nKind regards')
  const again = asked('You are the corrector of a shop.', `${input}\n\nDo better: Say 2026-11-30. Sign as The Shop.`)
  expect(nextStep(again).text).toBe(
    'Dear Ann,\n\nOrder 17 is late.\n\nIt comes on 2026-11-30.\n\nKind regards\nThe Shop',
  )
})
