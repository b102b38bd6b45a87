import { parseArgs } from 'node:util'

import { scriptedModel } from '@provost/testing'
import { nodeRuntime, runTool, toolSearch } from '@provost/tools'
import { createAgent, tool, z } from 'provost'
import type { Tool } from 'provost'

import { median, sample } from './measure.ts'
import type { Sample } from './measure.ts'

const help = `Measures tool_search over many deferred tools, and what such an agent costs to make and to step.

Usage: node --conditions=@provost/source bench/tool-search.ts [options]

Options:
  --tools 10000   deferred tools (default 10000)
  --rounds 20     rounds over all queries (default 20)
  --json          one JSON object on stdout, nothing else
  --help          this text
`

const verbs = ['create', 'list', 'update', 'delete', 'archive', 'search', 'export', 'share', 'approve', 'schedule']
const things = ['invoice', 'customer', 'ticket', 'calendar_event', 'repository', 'pull_request', 'message', 'contract']
const services = Array.from({ length: 125 }, (_, i) => `service${i}`)
const queries = [
  'approve a contract',
  'which tool exports invoices of a customer as a spreadsheet for service12',
  'service99_share_message',
  'calender evnt',
  'schedule',
  'open pull requests in a repository that wait for my review',
  'nothing like this exists',
  'use',
  'serv',
  'retirns an owner',
  'ser des use0 ret own sta invoi contr',
]

function deferredTools(count: number): Tool[] {
  return Array.from({ length: count }, (_, i) => {
    const verb = verbs[i % 10] ?? ''
    const thing = things[Math.floor(i / 10) % 8] ?? ''
    const service = services[Math.floor(i / 80) % 125] ?? ''
    return tool({
      name: `${service}_${verb}_${thing}${i >= 10_000 ? `_${i}` : ''}`,
      description: `Use this to ${verb} a ${thing.replace('_', ' ')} in ${service}. Returns the ${thing} with its id, owner and state.`,
      effect: 'read',
      input: z.object({ [`${thing}Id`]: z.string(), owner: z.string().optional(), limit: z.number().optional() }),
      execute: () => 'ok',
      deferLoading: true,
    })
  })
}

/** The mean of a round, in CPU time of the whole process and in wall time: others work on this machine too. */
async function cost(rounds: number, work: () => unknown): Promise<Sample> {
  return sample(async () => work(), rounds)
}

async function measure(count: number, rounds: number) {
  let tools: Tool[] = []
  const define = await cost(1, () => (tools = deferredTools(count)))
  const model = scriptedModel([{ text: 'done' }], { after: 'repeat-last' })
  const make = await cost(3, () => createAgent({ name: 'bench', model, tools }))
  const agent = createAgent({ name: 'bench', model, tools })
  const plain = createAgent({ name: 'plain', model })

  const [search] = toolSearch(() => tools).tools
  if (!search) throw new Error('There is no search tool.')
  const runtime = nodeRuntime()
  const ask = async (query: string): Promise<void> => {
    const { outcome } = await runTool(search, {
      callId: 'c',
      idempotencyKey: 'k',
      input: { query },
      value: { query },
      signal: new AbortController().signal,
      graceMs: 0,
      runtime,
      access: {
        session: { id: 's' },
        fold: ({ initial }) => initial,
        now: () => 0,
        blob: async () => undefined,
        putBlob: async () => '',
      },
      context: undefined,
      messages: [],
      progress: () => {},
      partial: () => {},
    })
    if (outcome !== 'ok') throw new Error(`The search ended with ${outcome}.`)
  }
  const index = await cost(1, () => ask('contract'))
  for (const query of queries) await cost(5, () => ask(query))
  const byQuery: Record<string, Sample> = {}
  for (const query of queries) byQuery[query] = await cost(rounds, () => ask(query))
  const cpu = Object.values(byQuery).map(({ cpuMs }) => cpuMs)
  const wall = Object.values(byQuery).map(({ wallMs }) => wallMs)
  await agent.run('hi')
  await plain.run('hi')
  return {
    bench: 'tool-search',
    unit: 'CPU ms unless it says wall, mean of the rounds',
    tools: count,
    rounds,
    define: define.cpuMs,
    createAgent: make.cpuMs,
    firstQueryWithIndex: index.cpuMs,
    query: {
      cpuMs: { median: median(cpu), worst: Math.max(...cpu) },
      wallMs: { median: median(wall), worst: Math.max(...wall) },
    },
    byQuery,
    run: {
      withDeferredTools: (await cost(rounds, () => agent.run('hi'))).cpuMs,
      withoutTools: (await cost(rounds, () => plain.run('hi'))).cpuMs,
    },
    node: process.version,
  }
}

const { values } = parseArgs({
  options: {
    tools: { type: 'string', default: '10000' },
    rounds: { type: 'string', default: '20' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) process.stdout.write(help)
else {
  const report = await measure(Number(values.tools), Number(values.rounds))
  process.stdout.write(`${JSON.stringify(report, null, values.json ? 0 : 2)}\n`)
}
