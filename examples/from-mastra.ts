// From Mastra: a thread of a resource, a workflow that suspends for data, and a tool that needs approval, each as it is here.
import { createAgent, memoryStore, tool, z } from 'provost'
import { scriptedModel } from 'provost/testing'

const store = memoryStore() // in place of storage; sqliteStore or postgresStore outlive the process
const booked: string[] = []

const book = tool({
  name: 'book',
  effect: 'write',
  input: z.object({ room: z.string() }),
  needsApproval: true, // in place of requireApproval
  execute({ room }) {
    booked.push(room)
    return `booked ${room}`
  },
})

// In place of createWorkflow().then(step).then(step): a tool that calls tools. Each act has a key, and happens once.
const planVisit = tool({
  name: 'plan_visit',
  composite: true,
  input: z.object({ city: z.string() }),
  async execute({ city }, ctx) {
    // In place of suspend() and resumeData.
    const guests = z.number().parse(await ctx.wait('guests', { message: 'How many guests?' }))
    const { outcome, value } = await ctx.call(book, { room: `a room for ${guests} in ${city}` }, { key: 'book' })
    return outcome === 'ok' ? value : 'nothing booked'
  },
})

// Each call makes the agent anew, as another process would.
const guide = () =>
  createAgent({
    name: 'guide',
    instructions: 'Help with visits.',
    model: scriptedModel(
      [
        ({ messages }) =>
          messages.at(-1)?.role === 'tool'
            ? { text: 'The visit is planned.' }
            : { toolCalls: [{ name: 'plan_visit', input: { city: 'Ulm' } }] },
      ],
      { after: 'repeat-last' },
    ),
    tools: [book, planVisit],
    store,
  })

// In place of memory: { thread, resource }.
const thread = await guide().createSession({ id: 'visit-1', principal: { id: 'ann' } })
const started = await thread.stream('Plan a visit to Ulm.').result
console.log(started.status, started.pending.inputs[0]?.message) // → suspended How many guests?
await thread.close()

// In place of run.resume({ step, resumeData }).
const resumed = await guide().resumeSession('visit-1')
await resumed.resolve({ inputs: resumed.pending.inputs.map(({ id }) => ({ id, value: 2 })) })
const asked = await resumed.waitForIdle()
const approvals = resumed.pending.approvals.map(({ id }) => ({ id, decision: 'approve' as const, by: 'boss' }))
console.log(asked?.status, approvals.length, booked) // → suspended 1 []

// In place of approveToolCall({ runId }).
await resumed.resolve({ approvals })
console.log((await resumed.waitForIdle())?.text, booked) // → The visit is planned. [ 'a room for 2 in Ulm' ]
