// A team: an agent as a tool of another, drafts that are written side by side and judged, and a reply that is made better.
import { createAgent, evaluatorOptimizer, filters, runFanOut, tool, z } from 'provost'
import { scriptedModel } from 'provost/testing'

const says = (text: string) => process.env.PROVOST_MODEL ?? scriptedModel([{ text }], { after: 'repeat-last' })

// A child runs in a log of its own. What it waits for stands in the outermost run, and goes on from there.
const refund = tool({
  name: 'refund',
  input: z.object({ euros: z.number() }),
  needsApproval: true,
  execute: ({ euros }) => `${euros} euros are on their way`,
})
const billing = createAgent({
  name: 'billing',
  tools: [refund],
  model:
    process.env.PROVOST_MODEL ??
    scriptedModel([{ toolCalls: [{ name: 'refund', input: { euros: 30 } }] }, { text: 'Refunded 30 euros.' }]),
})
const desk = createAgent({
  name: 'desk',
  // Of the conversation billing sees what the user said last, and the task.
  tools: [billing.toTool({ name: 'ask_billing', description: 'Ask billing to act.', inputFilter: filters.lastUser() })],
  model:
    process.env.PROVOST_MODEL ??
    scriptedModel([
      { toolCalls: [{ name: 'ask_billing', input: { task: 'Refund order 17.' } }] },
      { text: 'Your money is on its way.' },
    ]),
})
const waiting = await desk.run('My shirt came torn. Order 17.')
const [approval] = waiting.pending.approvals
console.log(waiting.status, approval?.agent, approval?.toolName, approval?.runPath.length) // → suspended billing refund 2
const done = await desk.run(waiting.state, { approvals: [{ id: approval?.id ?? '', decision: 'approve' }] })
console.log(done.status, done.text) // → completed Your money is on its way.

// Side by side: one that fails is seen, and is no part of the answer.
const drafts = await runFanOut({
  children: [
    { agent: createAgent({ name: 'warm', model: says('We are so sorry, Ann!') }), input: 'Apologise to Ann.' },
    { agent: createAgent({ name: 'brief', model: says('Sorry, Ann.') }), input: 'Apologise to Ann.' },
  ],
  mergeStrategy: { kind: 'judge-merge', judge: says('We are sorry, Ann.'), criteria: 'Warm, and short.' },
  perBudget: { tokens: 20_000, durationMs: 60_000 },
})
console.log(drafts.output, drafts.used) // → We are sorry, Ann. [ '0', '1' ]

// Until it is good enough, or three tries are over.
const reply = await evaluatorOptimizer({
  generator: createAgent({
    name: 'writer',
    model:
      process.env.PROVOST_MODEL ??
      scriptedModel([{ text: 'Sorry.' }, { text: 'Sorry, Ann. 30 euros are on their way.' }]),
  }),
  input: 'Write to Ann about her 30 euros.',
  evaluator: {
    kind: 'free-form',
    evaluate: (text) => ({ accepted: text.includes('30'), feedback: 'Say how much she gets.' }),
  },
})
console.log(reply.accepted, reply.iterations.length, reply.output) // → true 2 Sorry, Ann. 30 euros are on their way.
