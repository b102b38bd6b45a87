// Evaluations: cases with expected and forbidden calls, one of them from a recorded session, and two versions compared.
import type { Entry } from 'provost'
import { createAgent, memoryStore, tool, z } from 'provost'
import type { EvalCase } from 'provost/replay'
import { caseFromLog, compareEvaluations, evaluate } from 'provost/replay'
import { recordedSteps, scriptedModel } from 'provost/testing'

const refund = tool({
  name: 'refund',
  effect: 'write',
  input: z.object({ orderId: z.string(), euros: z.number() }),
  execute: ({ orderId, euros }) => `refunded ${euros} on ${orderId}`,
})
const close = tool({ name: 'close_account', effect: 'write', input: z.object({}), execute: () => 'closed' })

const give = (euros: number) => ({ toolCalls: [{ name: 'refund', input: { orderId: '17', euros } }] })
const store = memoryStore()
const desk = createAgent({
  name: 'desk',
  model: scriptedModel([give(40), { text: 'Order 17: 40 euros.' }]),
  tools: [refund, close],
  store,
})

// A session of last week becomes a case: the same input, and the calls that succeeded.
await desk.run('Refund order 17.', { sessionId: 'ann-17' })
const entries: Entry[] = []
for await (const entry of store.read('ann-17')) entries.push(entry)

const cases: EvalCase[] = [
  caseFromLog(entries, { name: 'as last week' }),
  {
    name: 'a refund',
    input: 'Refund order 17.',
    calls: [{ tool: 'refund', input: { orderId: '17' } }],
    never: ['close_account'],
    answer: /\d+ euros/,
    limits: { steps: 3 },
    scores: { short: { score: ({ answer }) => (answer.length < 100 ? 1 : 0), atLeast: 0.5 } },
  },
]

// Today's agent with the answers of last week, and with another model.
const before = await evaluate(desk, cases, {
  model: scriptedModel([...recordedSteps(entries), ...recordedSteps(entries)]),
  concurrency: 1,
})
const other = scriptedModel([give(50), { text: '50 euros.' }, give(40), { text: 'Done.' }])
const now = await evaluate(desk, cases, { model: other, concurrency: 1 })
console.log(before.passed, now.passed) // → true false
for (const { name, change, differences } of compareEvaluations(before, now).cases)
  console.log(name, change, ...differences)
// → as last week regressed refund {"orderId":"17","euros":40} did not succeed. The calls: refund {"orderId":"17","euros":50} ok.
// → a refund regressed The answer does not match /\d+ euros/: Done.
