import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { afterAll, expect, test } from 'vitest'

const script = join(import.meta.dirname, '../../../bench/memory/recall.ts')
const folder = mkdtempSync(join(tmpdir(), 'provost-recall-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** A conversation in the format of LoCoMo, with what its files have beside the turns. */
const conversation = {
  sample_id: 'conv-1',
  conversation: {
    speaker_a: 'Ada',
    speaker_b: 'Bo',
    session_1_date_time: '1:56 pm on 8 May, 2023',
    session_1: [
      { speaker: 'Ada', dia_id: 'D1:1', text: 'What is the name of your kitten?' },
      { speaker: 'Bo', dia_id: 'D1:2', text: 'She is called Minka.' },
      { speaker: 'Ada', dia_id: 'D1:3', text: 'Look at this!', img_url: ['x'], blip_caption: 'a red bicycle' },
    ],
    session_2_date_time: '4:04 pm on 20 May, 2023',
    session_2: [
      { speaker: 'Bo', dia_id: 'D2:1', text: 'I moved to Bergen in spring.' },
      { speaker: 'Ada', dia_id: 'D2:2', text: 'And the harbour in Bergen is lovely.' },
    ],
    // Sessions that nobody recorded have a date in some files.
    session_3_date_time: '9:00 am on 1 June, 2023',
  },
  qa: [
    { question: 'What is the name of the kitten?', answer: 'Minka', evidence: ['D1:2'], category: 1 },
    { question: 'Who has a red bicycle?', answer: 'Ada', evidence: ['D1:3'], category: 4 },
    { question: 'What is said of Bergen?', answer: 2, evidence: ['D2:1; D2:2'], category: 2 },
    { question: 'What does the evidence not have?', adversarial_answer: 'x', evidence: ['D9:9', 'D'], category: 5 },
    { question: 'And this?', evidence: [], category: 3 },
  ],
  session_summary: { session_1_summary: 'They talked.' },
}

test('conversations in the format of LoCoMo are read from a folder, and what answers their questions is found', async () => {
  writeFileSync(join(folder, 'one.json'), JSON.stringify([conversation]))
  writeFileSync(join(folder, 'two.json'), JSON.stringify({ ...conversation, sample_id: 'conv-2' }))
  writeFileSync(join(folder, 'README.txt'), 'not a conversation')
  const args = ['--conditions=@provost/source', script, folder, '--json']
  const { stdout } = await promisify(execFile)(process.execPath, args)
  const report: unknown = JSON.parse(stdout)
  expect(report).toMatchObject({ bench: 'memory-recall', conversations: 2, turns: 10, questions: 6 })
  const found = { 'recall@5': 1, 'recall@10': 1 }
  expect(report).toMatchObject({
    rows: [
      // Without its neighbours the answer that shares no word with its question is not found.
      { ranking: 'own words', 'recall@10': 0.667 },
      { ranking: 'previous turn', ...found },
      { ranking: 'both neighbours', ...found },
      { ranking: 'neighbours and session (default)', ...found },
    ],
  })
})
