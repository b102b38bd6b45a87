// Labels travel with data: once the agent has read data of EU customers, exports go to EU hosts only.
import { readFileSync } from 'node:fs'

import { cedarRule } from '@provost/policy-cedar'
import { createAgent, tool, z } from 'provost'
import { dataFlowPolicy, presets } from 'provost/governance'
import { scriptedModel } from 'provost/testing'

const readCustomers = tool({
  name: 'read_customers',
  effect: 'read',
  input: z.object({}),
  returns: { integrity: 'trusted', sources: ['eu-customers'] },
  execute: () => [{ name: 'Ann', city: 'Turku' }],
})
const exportRows = tool({
  name: 'export_rows',
  effect: 'egress',
  input: z.object({ url: z.url() }),
  args: { url: 'destination' },
  returns: { integrity: 'trusted' },
  execute: ({ url }) => `exported to ${url}`,
})

const residency = cedarRule({
  policy: readFileSync(new URL('policies/eu-data.cedar', import.meta.url), 'utf8'),
  tools: [readCustomers, exportRows],
})

const exportTo = (host: string) => ({ toolCalls: [{ name: 'export_rows', input: { url: `https://${host}/rows` } }] })
const model =
  process.env.PROVOST_MODEL ??
  scriptedModel([
    exportTo('api.us.example.com'),
    { toolCalls: [{ name: 'read_customers' }] },
    exportTo('api.us.example.com'),
    exportTo('api.eu.example.com'),
    exportTo('api.eu.example.com.away.example'),
    { text: 'Done.' },
  ])

const desk = createAgent({
  name: 'desk',
  model,
  tools: [readCustomers, exportRows],
  extensions: [dataFlowPolicy({ mode: 'enforce', rules: [residency, ...presets.intent] })],
})
for await (const event of desk.stream('Export the customers to our hosts.')) {
  if (event.type === 'tool.execute.end') console.log(event.output)
  if (event.type === 'tool.execute.error') console.log(event.error.code, event.error.message)
}
// → { type: 'text', value: 'exported to https://api.us.example.com/rows' }
// → { type: 'json', value: [ { name: 'Ann', city: 'Turku' } ] }
// → dataflow_policy_blocked Data of EU customers stays on EU hosts.
// → { type: 'text', value: 'exported to https://api.eu.example.com/rows' }
// → dataflow_policy_blocked Data of EU customers stays on EU hosts.
