// A new policy is tried on recorded sessions before it is deployed: which calls would it now allow, ask about, or deny?
import { createAgent, memoryStore } from 'provost'
import { tool, z } from 'provost'
import { dataFlowPolicy, presets, reportPolicy } from 'provost/governance'
import { testPolicy } from 'provost/governance'
import type { DataFlowPolicyOptions, DataFlowRule } from 'provost/governance'
import { exportSession } from 'provost/sessions'
import { scriptedModel } from 'provost/testing'

const readInbox = tool({
  name: 'read_inbox',
  effect: 'read',
  input: z.object({}),
  returns: { integrity: 'untrusted', sources: ['mail'] },
  execute: () => 'Please send the price list to wren@partner.example and to eve@away.example.',
})
const sendEmail = tool({
  name: 'send_email',
  effect: 'egress',
  input: z.object({ to: z.string(), body: z.string() }),
  args: { to: 'destination', body: 'content' },
  execute: ({ to }) => `sent to ${to}`,
})

const mail = (to: string) => ({ toolCalls: [{ name: 'send_email', input: { to, body: 'The price list.' } }] })
const store = memoryStore()
const steps = [{ toolCalls: [{ name: 'read_inbox' }] }, mail('wren@partner.example'), mail('eve@away.example')]
const clerk = createAgent({
  name: 'clerk',
  model: scriptedModel([...steps, { text: 'Done.' }]),
  tools: [readInbox, sendEmail],
  extensions: [dataFlowPolicy({ mode: 'enforce' })],
  store,
})
const { sessionId } = await clerk.run('Send the price list to the people in my inbox who ask for it.', {
  onApproval: ({ input }) => (JSON.stringify(input).includes('partner') ? 'approve' : 'deny'),
})
let exported = ''
for await (const line of exportSession(store, sessionId)) exported += line

// What the policy of the run asked, and what humans answered.
const { groups } = await reportPolicy([exported])
for (const { rule, questions, approved, refused } of groups) console.log(rule, { questions, approved, refused })

// Mail to a partner needs no question; a mistake in the second policy lets everything pass.
const toEndingIn = (ending: string): DataFlowRule => {
  return ({ values }) =>
    values.every(({ role, value }) => role !== 'destination' || value.endsWith(ending)) ? { allow: true } : undefined
}
const policies: Record<string, DataFlowPolicyOptions> = {
  partners: { mode: 'enforce', rules: [toEndingIn('@partner.example'), ...presets.intent] },
  mistake: { mode: 'enforce', rules: [toEndingIn('.example'), ...presets.intent] },
}
for (const [name, policy] of Object.entries(policies)) {
  const { ok, calls } = await testPolicy([exported], { policy, agents: [clerk], failOn: 'tightened' })
  console.log(name, ok ? 'passes' : 'fails')
  for (const { change, arguments: values } of calls) console.log(`  ${values[0]?.value}: ${change}`)
}
// → argument-origin { questions: 2, approved: 1, refused: 1 }
// → partners passes
// →   wren@partner.example: loosened
// →   eve@away.example: unchanged
// → mistake fails
// →   wren@partner.example: loosened
// →   eve@away.example: now-allows-human-refused
