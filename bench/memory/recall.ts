import { parseArgs } from 'node:util'

import { readConversations } from './locomo.ts'
import { measureRecall } from './measure-recall.ts'
import { syntheticConversations } from './synthetic.ts'

const help = `Measures how well the memory finds the turns that answer questions.

Usage: node --conditions=@provost/source bench/memory/recall.ts [FILE or DIR] [--json]

FILE is in the format of LoCoMo, DIR a folder of such files; without either the synthetic set is used.
`
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { json: { type: 'boolean', default: false }, help: { type: 'boolean', default: false } },
})
if (values.help) process.stdout.write(help)
else {
  const [path] = positionals
  const conversations = path === undefined ? syntheticConversations() : readConversations(path)
  const turns = conversations.reduce((sum, one) => sum + one.turns.length, 0)
  const questions = conversations.reduce((sum, one) => sum + one.questions.length, 0)
  const rows = await measureRecall(conversations)
  const report = {
    bench: 'memory-recall',
    set: path ?? 'synthetic',
    conversations: conversations.length,
    turns,
    questions,
    rows,
  }
  process.stdout.write(`${JSON.stringify(report, null, values.json ? 0 : 2)}\n`)
}
