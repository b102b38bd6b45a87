// From LangGraph.js: a graph whose node interrupts for a review is an agent whose tool asks; its edges are an orchestrator.
import { agentic, createAgent, memoryStore, tool, z } from 'provost'
import type { Orchestrator } from 'provost'
import { scriptedModel } from 'provost/testing'

const store = memoryStore() // in place of a checkpointer; sqliteStore or postgresStore outlive the process
let mails = 0

const sendMail = tool({
  name: 'send_mail',
  effect: 'egress',
  input: z.object({ to: z.string(), text: z.string() }),
  args: { to: 'destination', text: 'content' },
  needsApproval: true, // in place of interrupt() inside a node
  execute({ to }) {
    mails++
    return `sent to ${to}`
  },
})

// The edges of the graph are the lines of a function. Each step is recorded, so a resumed run continues behind the last one.
const checkThenAct: Orchestrator = async (run) => {
  await run.model({ tools: [], tail: [{ content: 'What is asked for, in one line?' }] })
  await run.say('Do it.')
  await agentic()(run)
}

const answers = scriptedModel([
  { text: 'A mail to ann@example.com.' },
  { toolCalls: [{ name: 'send_mail', input: { to: 'ann@example.com', text: 'The order is on its way.' } }] },
  { text: 'I wrote to Ann.' },
])

// Each call makes the agent anew, as another process would.
const writer = () =>
  createAgent({
    name: 'writer',
    model: answers,
    tools: [sendMail],
    orchestrator: checkThenAct,
    store,
  })

// In place of graph.invoke(input, { configurable: { thread_id } }):
const thread = await writer().createSession({ id: 'thread-1' })
const asked = await thread.stream('Tell Ann that her order is on its way.').result
console.log(asked.status, asked.pending.approvals[0]?.toolName, mails) // → suspended send_mail 0
await thread.close()

// In place of new Command({ resume }): any process that shares the store answers, with other arguments if it likes.
const resumed = await writer().resumeSession('thread-1')
const [approval] = resumed.pending.approvals
const args = { to: 'ann@example.com', text: 'Your order is on its way.' }
if (approval) await resumed.resolve({ approvals: [{ id: approval.id, decision: 'approve', by: 'boss', args }] })
console.log((await resumed.waitForIdle())?.text, mails) // → I wrote to Ann. 1
