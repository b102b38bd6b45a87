// Refunds are added up for each customer over the whole session; above a limit a human decides.
import { readFileSync } from 'node:fs'

import { cedarRule } from '@provost/policy-cedar'
import { createAgent, tool, z } from 'provost'
import { dataFlowPolicy, presets } from 'provost/governance'
import { scriptedModel } from 'provost/testing'

const refund = tool({
  name: 'refund',
  effect: 'write',
  input: z.object({ customer: z.string(), cents: z.int() }),
  args: { customer: 'selector', cents: 'amount' },
  returns: { integrity: 'trusted' },
  execute: ({ customer, cents }) => `refunded ${cents} to ${customer}`,
})

const limits = cedarRule({
  policy: readFileSync(new URL('policies/refunds.cedar', import.meta.url), 'utf8'),
  tools: [refund],
})

const give = (customer: string, cents: number) => ({ toolCalls: [{ name: 'refund', input: { customer, cents } }] })
const model =
  process.env.PROVOST_MODEL ??
  scriptedModel([
    give('ann', 6000),
    give('ann', 6000),
    give('bob', 6000),
    give('ann', 4000),
    give('ann', -6000),
    { text: 'Done.' },
  ])

const desk = createAgent({
  name: 'desk',
  model,
  tools: [refund],
  extensions: [dataFlowPolicy({ mode: 'enforce', rules: [limits, ...presets.intent] })],
})
const stream = desk.stream('Refund what ann and bob ask for.', {
  onApproval: ({ reason, input }) => (console.log(`May it? ${reason} ${JSON.stringify(input)}`), 'deny'),
})
for await (const event of stream) {
  if (event.type === 'tool.execute.end') console.log(event.output)
  if (event.type === 'tool.execute.error') console.log(event.error.code, event.error.message)
}
// → { type: 'text', value: 'refunded 6000 to ann' }
// → May it? refund: The refunds of this customer exceed 100.00. {"customer":"ann","cents":6000}
// → tool-denied The call was not approved.
// → { type: 'text', value: 'refunded 6000 to bob' }
// → { type: 'text', value: 'refunded 4000 to ann' }
// → dataflow_policy_blocked A refund is a positive amount.
