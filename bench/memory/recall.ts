import { parseArgs } from 'node:util'

import { readConversations } from './locomo.ts'
import type { Conversation } from './locomo.ts'
import { measureRecall } from './measure-recall.ts'
import { syntheticConversations } from './synthetic.ts'

const help = `Measures how well the memory finds the turns that answer questions.

Usage: node --conditions=@provost/source bench/memory/recall.ts [FILE or DIR] [--json]

FILE is in the format of LoCoMo, DIR a folder of such files; without either the synthetic set is used. Questions without
evidence in their conversation are left out and counted. The last row has weights chosen on the other conversations.
`
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { json: { type: 'boolean', default: false }, help: { type: 'boolean', default: false } },
})
if (values.help) process.stdout.write(help)
else {
  const [path] = positionals
  try {
    await report(path, values.json)
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
    process.exitCode = 1
  }
}

async function report(path: string | undefined, json: boolean): Promise<void> {
  const { conversations, skipped } =
    path === undefined ? { conversations: syntheticConversations(), skipped: [] } : readConversations(path)
  const sum = (of: (one: Conversation) => number): number => conversations.reduce((total, one) => total + of(one), 0)
  const rows = await measureRecall(conversations)
  const found = {
    bench: 'memory-recall',
    set: path ?? 'synthetic',
    conversations: conversations.length,
    turns: sum(({ turns }) => turns.length),
    questions: sum(({ questions }) => questions.length),
    questionsWithoutEvidence: sum(({ unanswerable }) => unanswerable),
    ...(skipped.length > 0 && { skipped }),
    rows,
  }
  process.stdout.write(`${JSON.stringify(found, null, json ? 0 : 2)}\n`)
}
