// A policy file that an operator edits: mail goes to known recipients, and a human decides about all others.
import { readFileSync } from 'node:fs'

import { cedarRule } from '@provost/policy-cedar'
import { createAgent, tool, z } from 'provost'
import { dataFlowPolicy, presets } from 'provost/governance'
import { scriptedModel } from 'provost/testing'

const sendEmail = tool({
  name: 'send_email',
  effect: 'egress',
  input: z.object({ to: z.array(z.string()), body: z.string() }),
  args: { to: 'destination', body: 'content' },
  execute: ({ to }) => `sent to ${to.join(', ')}`,
})

const recipients = cedarRule({
  policy: readFileSync(new URL('policies/known-recipients.cedar', import.meta.url), 'utf8'),
  tools: [sendEmail],
  facts: { knownRecipients: ['ann@example.com', 'bob@example.com'] },
})

const mail = (...to: string[]) => ({ toolCalls: [{ name: 'send_email', input: { to, body: 'We meet at nine.' } }] })
const model =
  process.env.PROVOST_MODEL ??
  scriptedModel([
    mail('ann@example.com', 'bob@example.com'),
    mail('ann@example.com', 'eve@away.example'),
    { text: 'Done.' },
  ])

const desk = createAgent({
  name: 'desk',
  model,
  tools: [sendEmail],
  // The policy can only tighten: what it permits is left to the default rules.
  extensions: [dataFlowPolicy({ mode: 'enforce', rules: [recipients, ...presets.intent] })],
})
const stream = desk.stream('Mail ann@example.com, bob@example.com and eve@away.example when we meet.', {
  onApproval: ({ reason, input }) => (console.log(`May it? ${reason} ${JSON.stringify(input)}`), 'deny'),
})
for await (const event of stream) {
  if (event.type === 'tool.execute.end') console.log(event.output)
  if (event.type === 'tool.execute.error') console.log(event.error.code)
}
// → { type: 'text', value: 'sent to ann@example.com, bob@example.com' }
// → May it? send_email: The recipient is not known. {"to":["ann@example.com","eve@away.example"],"body":"We meet at nine."}
// → tool-denied
