import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { readConversations } from '../memory/locomo.ts'
import { measureRecall } from '../memory/measure-recall.ts'

const folder = mkdtempSync(join(tmpdir(), 'provost-recall-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function write(name: string, json: unknown): string {
  const path = join(folder, name)
  writeFileSync(path, typeof json === 'string' ? json : JSON.stringify(json))
  return path
}

/** A conversation in the format of LoCoMo, with all that its files have, and what some of them have wrong. */
const conversation = {
  sample_id: 'conv-1',
  conversation: {
    speaker_a: 'Ada',
    speaker_b: 'Bo',
    session_1_date_time: '1:56 pm on 8 May, 2023',
    session_1: [
      { speaker: 'Ada', dia_id: 'D1:1', text: 'What is the name of your kitten?' },
      { speaker: 'Bo', dia_id: 'D1:2', text: 'She is called Minka.' },
      {
        speaker: 'Ada',
        dia_id: 'D1:3',
        text: 'Look at this!',
        img_url: ['https://example.org/1.jpg'],
        blip_caption: 'a red bicycle',
        query: 'bicycle red',
      },
    ],
    session_2_date_time: '4:04 pm on 20 May, 2023',
    session_2: [
      { speaker: 'Bo', dia_id: 'D2:1', text: 'I moved to Bergen in spring.' },
      { speaker: 'Ada', dia_id: 'D2:2', text: 'And the harbour in Bergen is lovely.' },
    ],
    // Some files have dates for sessions that were not recorded.
    session_3_date_time: '9:00 am on 1 June, 2023',
  },
  qa: [
    { question: 'What is the name of the kitten?', answer: 'Minka', evidence: ['D1:2'], category: 4 },
    { question: 'Who has a red bicycle?', answer: 'Ada', evidence: ['D1:3'], category: 4 },
    { question: 'What is said of Bergen?', answer: 2, evidence: ['D2:1; D:2:02'], category: 1 },
    { question: 'Does Ada own a kitten?', adversarial_answer: 'Yes', evidence: ['D1:1'], category: 5 },
    { question: 'What does the evidence not have?', adversarial_answer: 'x', evidence: ['D9:9', 'D'], category: 5 },
    { question: 'And this?', answer: 'y', evidence: [], category: 3 },
    { question: 'Nor this?', answer: 'z', category: 2 },
  ],
  observation: { session_1_observation: { Ada: [['Ada has a bicycle.', 'D1:3']] } },
  session_summary: { session_1_summary: 'They talked.' },
  event_summary: { events_session_1: { Ada: [], Bo: ['moves to Bergen'], date: '8 May, 2023' } },
}

describe('conversations in the format of LoCoMo', () => {
  beforeAll(() => {
    write('one.json', [conversation, { ...conversation, sample_id: 'conv-2' }])
    write('two.json', { ...conversation, sample_id: 'conv-3' })
    write('personas.json', { train: [['I like tea.']] })
    write('README.txt', 'not a conversation')
  })

  test('are read from a folder; questions whose evidence is missing are counted and left out', () => {
    const { conversations, skipped } = readConversations(folder)
    expect(skipped).toEqual([join(folder, 'personas.json')])
    expect(conversations.map(({ id, turns, unanswerable }) => [id, turns.length, unanswerable])).toEqual([
      ['conv-1', 5, 3],
      ['conv-2', 5, 3],
      ['conv-3', 5, 3],
    ])
    expect(conversations[0]?.questions.map(({ evidence, category }) => [evidence.join(), category])).toEqual([
      ['D1:2', 4],
      ['D1:3', 4],
      ['D2:1,D2:2', 1],
      ['D1:1', 5],
    ])
    expect(conversations[0]?.turns[2]?.text).toBe('Look at this! (shows a red bicycle)')
  })

  test('are asked under several rankings, by category, and with weights that they had no part in', async () => {
    const rows = await measureRecall(readConversations(folder).conversations)
    const found = { 'recall@5': 1, 'recall@10': 1 }
    const byCategory = { 1: { questions: 3, 'recall@10': 1 }, 4: { questions: 6, 'recall@10': 1 }, 5: { questions: 3 } }
    expect(rows).toMatchObject([
      // Without its neighbours the answer that shares no word with its question is not found.
      { ranking: 'own words', 'recall@10': 0.75, byCategory: { 4: { 'recall@10': 0.5 } } },
      { ranking: 'previous turns', ...found },
      { ranking: 'turns around it', ...found },
      { ranking: 'neighbours and session (default)', ...found, byCategory },
      { ranking: 'weights chosen on the other conversations', ...found },
    ])
  })
})

test.for([
  ['no file', undefined, /There is no file or folder .*bad\.json/],
  ['no JSON', '[{', /bad\.json is no JSON: /],
  ['no conversation', [{ qa: [] }], /bad\.json is not in the format of LoCoMo:[^]*conversation/],
  [
    'a turn without a name',
    [{ ...conversation, conversation: { session_1: [{ text: 'x' }] } }],
    /session_1 .*[^]*dia_id/,
  ],
  ['a session that is no list', { ...conversation, conversation: { session_7: 'x' } }, /conv-1, session_7 is not/],
  ['evidence that is no list', { ...conversation, qa: [{ question: 'x', evidence: 'D1:1' }] }, /qa\[0\]\.evidence/],
  ['the same one twice', [conversation, conversation], /The conversation conv-1 is in .*bad\.json and again in/],
  ['nothing', [], /There is no conversation/],
] as const)('a file with %s is refused by name', ([, json, message]) => {
  const path = join(folder, 'bad.json')
  if (json !== undefined) write('bad.json', json)
  try {
    expect(() => readConversations(path)).toThrow(message)
  } finally {
    rmSync(path, { force: true })
  }
})
