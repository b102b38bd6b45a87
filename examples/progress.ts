// Agents leave artifacts for one another in the store: written whole or not at all, read by run, role and number.
import { createAgent, memoryStore, tool, z } from 'provost'
import { scriptedModel } from 'provost/testing'

const store = memoryStore()
const save = tool({
  name: 'save_draft',
  input: z.object({ version: z.number(), text: z.string() }),
  async execute({ version, text }) {
    await writer.progress.write(text, { role: 'draft', seq: version, tags: ['english'] })
    return 'saved'
  },
})
const writer = createAgent({
  name: 'writer',
  model: scriptedModel([
    { toolCalls: [{ name: 'save_draft', input: { version: 1, text: 'The harbour was quite.' } }] },
    { toolCalls: [{ name: 'save_draft', input: { version: 2, text: 'The harbour was quiet.' } }] },
    { text: 'Done.' },
  ]),
  tools: [save],
  store,
})

const stream = writer.stream('Write about the harbour.')
for await (const event of stream) if (event.type === 'progress.written') console.log(event.role, event.seq, event.bytes)
// → draft 1 22
// → draft 2 22
const { runId } = await stream.result

// Another agent on the same store, in another process if need be.
const critic = createAgent({ name: 'critic', model: scriptedModel([{ text: 'Fine.' }]), store })
for (const { seq, content } of await critic.progress.read({ runId, role: 'draft', sinceSeq: 1 })) {
  console.log(seq, new TextDecoder().decode(content)) // → 2 The harbour was quiet.
}
