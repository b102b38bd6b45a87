// Hundreds of tools that cost the model nothing until it looks for them: it finds one, and calls it in the next step.
import { createAgent, tool, toolSet, z } from 'provost'
import { scriptedModel } from 'provost/testing'

const verbs = ['create', 'list', 'close']
const things = ['invoice', 'ticket', 'contract', 'customer']

// As they may come from an MCP server or an API description. A set gives them a source, and a prefix if names collide.
const backOffice = toolSet(
  'back-office',
  verbs.flatMap((verb) =>
    things.map((thing) =>
      tool({
        name: `${verb}_${thing}`,
        description: `${verb} a ${thing}`,
        effect: verb === 'list' ? 'read' : 'write',
        input: z.object({ owner: z.string() }),
        execute: ({ owner }) => `${verb} ${thing} for ${owner}: ok`,
        deferLoading: true,
      }),
    ),
  ),
)

const model =
  process.env.PROVOST_MODEL ??
  scriptedModel([
    ({ tools }) => {
      console.log('first step:', tools.map(({ name }) => name).join(', '))
      return { toolCalls: [{ name: 'tool_search', input: { query: 'list contracts', limit: 1 } }] }
    },
    ({ tools }) => {
      console.log('second step:', tools.map(({ name }) => name).join(', '))
      return { toolCalls: [{ name: 'list_contract', input: { owner: 'Ann' } }] }
    },
    { text: 'Ann has her contracts.' },
  ])

const clerk = createAgent({ name: 'clerk', model, tools: backOffice })
console.log(
  clerk.registry.tools.length,
  'tools;',
  'list_contract is of the',
  clerk.registry.source('list_contract')?.name,
)
// → 13 tools; list_contract is of the back-office

for await (const event of clerk.stream('Which contracts does Ann have?')) {
  // → first step: tool_search
  if (event.type === 'tool.execute.end') console.log(event.toolName, 'came from', event.label.integrity, 'hands')
  // → tool_search came from untrusted hands
  // → second step: tool_search, list_contract
  // → list_contract came from untrusted hands
  if (event.type === 'text.end') console.log(event.text) // → Ann has her contracts.
}
