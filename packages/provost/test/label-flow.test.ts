import { labelOf } from '@provost/core'
import * as fc from 'fast-check'
import { createAgent, defineExtension, handoff, joinLabels, memoryStore, RunState, tool, z } from 'provost'
import type { Extension, Json, Label } from 'provost'
import { codeMode } from 'provost/code-mode'
import { compaction, createMemory } from 'provost/memory'
import { sqliteMemory } from 'provost/sqlite'
import { scriptedModel } from 'provost/testing'
import type { ScriptedPrompt, ScriptedStep } from 'provost/testing'
import { expect, test } from 'vitest'

const full = process.env['PROVOST_TEST_FULL'] === '1'
const principal = { id: 'ann' }

// Paths, in any order and mix: reads of the model, scripts (results into the arguments of other calls, side by side, into
// agents, into errors, into what is returned), agents as tools, fan-outs, compaction, notes and blocks of memory and what is recalled
// in later sessions, handoffs, approvals, and resume by another process.

const label = fc.record({
  integrity: fc.constantFrom('trusted' as const, 'trusted' as const, 'untrusted' as const),
  confidentiality: fc.constantFrom('public' as const, 'internal' as const, 'secret' as const),
  sources: fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 2 }).map((names) => names.toSorted()),
})
const deeds = [
  'read',
  'script-returns',
  'script-forwards',
  'script-joins',
  'script-throws',
  'script-asks',
  'child',
  'fan-out',
  'note',
  'pin',
  'recall',
  'approval',
] as const
const deed = fc.record({ what: fc.constantFrom(...deeds), first: label, second: label })
const session = fc.record({
  runs: fc.array(fc.array(deed, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 3 }),
  hands: fc.boolean(),
  resumes: fc.boolean(),
})
const flow = fc.array(session, { minLength: 1, maxLength: 2 })
type Deed = typeof deed extends fc.Arbitrary<infer T> ? T : never
type Session = typeof session extends fc.Arbitrary<infer T> ? T : never

/** How often what is tested came about: else nothing was. */
const seen = { arguments: 0, bridged: 0, results: 0, messages: 0, views: 0, summaries: 0, remembered: 0, handed: 0 }

/** Each text that is read has a word of its own, by which it is known wherever it turns up. */
interface World {
  readonly labels: Map<string, Label>
  readonly memory: ReturnType<typeof createMemory>
  /** Where a word turned up without its label. A hook that throws is no test that fails. */
  readonly lost: string[]
}

test('no path loses a label: wherever a text turns up, what holds it carries the label it was read under', async () => {
  await fc.assert(
    fc.asyncProperty(flow, async (sessions) => {
      const memory = createMemory({
        store: sqliteMemory(':memory:'),
        blocks: [{ name: 'board', about: 'what matters' }],
      })
      try {
        const world: World = { labels: new Map(), memory, lost: [] }
        for (const one of sessions) await converse(one, world)
        for (const { text, label: own } of await memory.list({ principal, limit: 1_000 })) {
          seen.remembered += wordsIn(text).length
          carries('memory', own, text, world)
        }
        expect(world.lost).toEqual([])
      } finally {
        await memory.close()
      }
    }),
    // A few runs do not see everything by chance: these do.
    full ? { numRuns: 60 } : { numRuns: 3, seed: 7 },
  )
  for (const [what, count] of Object.entries(seen)) expect({ what, count }).not.toEqual({ what, count: 0 })
})

/** One session: several runs of one agent, that may end with another. */
async function converse({ runs, hands, resumes }: Session, world: World): Promise<void> {
  const store = { ...memoryStore(), private: true as const }
  let left: Deed[] = []
  let transfers = false
  const answer = (prompt: ScriptedPrompt): ScriptedStep => {
    const said = `About the topic: ${wordsIn(JSON.stringify(prompt.messages)).slice(-8).join(' ')}`
    if (prompt.messages[0]?.role === 'system' && prompt.messages[0].content.startsWith('You sum up')) {
      seen.summaries++
      return { text: said }
    }
    const next = left.shift()
    if (next) return stepOf(next, said, world)
    if (!transfers) return { text: said }
    transfers = false
    return { toolCalls: [{ name: 'transfer_to_b', input: { message: said } }] }
  }
  const team = () => {
    const model = scriptedModel([answer], { after: 'repeat-last' })
    const common = { instructions: 'You help.', model, tools: toolsOf(world), store }
    const watching = [world.memory, compaction({ window: 2_600, keepRecent: 300 }), checker(world)]
    const own = () => codeMode({ workers: 1, exclude: ['read', 'helper', 'fan', 'gated'] })
    const b = createAgent({ name: 'b', ...common, extensions: [own()] })
    return createAgent({ name: 'a', ...common, handoffs: [handoff(b)], extensions: [own(), ...watching] })
  }
  let agent = team()
  const sessionId = `s${++sessionsHeld}`
  for (const [n, deedsOfRun] of runs.entries()) {
    left = [...deedsOfRun]
    transfers = hands && n === runs.length - 1
    let result = await agent.run(`What about the topic? ${'word '.repeat(150)}`, { sessionId, principal })
    for (let turn = 0; result.status === 'suspended' && turn < 20; turn++) {
      const written: Json = JSON.parse(JSON.stringify(result.state))
      if (resumes) agent = team()
      const approvals = result.pending.approvals.map(({ id }) => ({ id, decision: 'approve' as const }))
      result = await agent.run(resumes ? RunState.fromJSON(written, agent) : result.state, { approvals })
    }
    const { status, error } = result
    expect({ status, error }).toEqual({ status: 'completed' })
    seen.handed += Number(result.messages.at(-1)?.agent === 'b')
  }
  for await (const { type } of store.read(sessionId)) seen.views += Number(type === 'view')
}

let sessionsHeld = 0

function stepOf({ what, first, second }: Deed, said: string, world: World): ScriptedStep {
  const [n, m] = [numberFor(first, world), numberFor(second, world)]
  const script = (source: string): ScriptedStep => ({ toolCalls: [{ name: 'code_execute', input: { source } }] })
  const call = (name: string, input: object): ScriptedStep => ({ toolCalls: [{ name, input }] })
  switch (what) {
    case 'read':
      return { toolCalls: [n, m].map((one) => ({ name: 'read', input: { n: one } })) }
    case 'script-returns':
      return script(`return [await tools.fetch({ n: ${n} }), await tools.fetch({ n: ${m} })]`)
    case 'script-forwards':
      return script(
        `const x = await tools.fetch({ n: ${n} }); const y = await tools.echo({ text: x.toUpperCase() }); return tools.echo({ text: y.toLowerCase() })`,
      )
    case 'script-joins':
      return script(
        `const all = await Promise.all([${n}, ${m}].map((n) => tools.fetch({ n }))); await tools.echo({ text: all.join(' ') }); return all.join(' ').length`,
      )
    case 'script-throws':
      return script(`throw new Error(await tools.fetch({ n: ${n} }))`)
    case 'script-asks':
      return script(`return tools.adviser({ task: await tools.fetch({ n: ${n} }) })`)
    case 'child':
      return call('helper', { task: said })
    case 'fan-out':
      return call('fan', { text: said })
    case 'note':
      return call('memory_remember', { text: said })
    case 'pin':
      return call('memory_edit', { block: 'board', text: said })
    case 'recall':
      return call('memory_recall', { query: 'topic' })
    case 'approval':
      return call('gated', { n, text: said })
    default:
      return what satisfies never
  }
}

function toolsOf(world: World) {
  const reads = z.object({ n: z.number(), text: z.string().optional() })
  const returns = (_: unknown, { n }: { n: number }): Label => world.labels.get(wordOf(n)) ?? joinLabels()
  const execute = ({ n }: { n: number }): string => `About the topic: ${wordOf(n)} ${'word '.repeat(120)}`
  const reader = (name: string) => tool({ name, effect: 'read', input: reads, returns, execute })
  const echoes = createAgent({
    name: 'echoes',
    model: scriptedModel([(prompt) => ({ text: wordsIn(JSON.stringify(prompt.messages)).join(' ') })], {
      after: 'repeat-last',
    }),
  })
  const clean = { integrity: 'trusted', confidentiality: 'public', sources: [] } as const
  return [
    reader('read'),
    reader('fetch'),
    tool({ name: 'gated', effect: 'read', needsApproval: true, input: reads, returns, execute }),
    // It says of itself that all it gives is clean: what a script was told besides is not so because of that.
    tool({
      name: 'echo',
      effect: 'write',
      input: z.object({ text: z.string() }),
      returns: clean,
      execute: ({ text }) => text,
    }),
    echoes.toTool({ name: 'helper', description: 'Helps.' }),
    echoes.toTool({ name: 'adviser', description: 'Advises.' }),
    tool({
      name: 'fan',
      effect: 'read',
      composite: true,
      input: z.object({ text: z.string() }),
      returns: clean,
      execute: async ({ text }, ctx) =>
        (
          await ctx.fanOut({
            children: ['x', 'y'].map((key) => ({ agent: echoes, input: text, key })),
            mergeStrategy: 'concat',
          })
        ).output,
    }),
  ]
}

/** Looks at all that is sent, said, called and told, in the whole tree. */
function checker(world: World): Extension {
  return defineExtension({
    name: 'checker',
    scope: 'tree',
    hooks: {
      'model.request'(request) {
        for (const message of request.messages) {
          seen.messages += wordsIn(JSON.stringify(message.content)).length
          carries('history', labelOf(message), message.content, world)
        }
        carries('tail', request.label, request.tail, world)
      },
      'model.response': (message) => carries('answer', labelOf(message), message.content, world),
      'tool.call'(call) {
        seen.arguments += wordsIn(JSON.stringify(call.input)).length
        // What a script forwards comes in capitals.
        const bridged = JSON.stringify(call.input).toLowerCase()
        if (call.tool.name === 'echo') seen.bridged += wordsIn(bridged).length
        carries(`arguments of ${call.tool.name}`, call.label, bridged, world)
      },
      'tool.result'(result) {
        seen.results += wordsIn(JSON.stringify(result.output)).length
        const { name } = result.tool
        // What a tool says of its own result holds; what a script makes of it carries what else the script was told.
        if (name !== 'echo') carries(`result of ${name}`, result.label, result.output, world)
        return result
      },
    },
  })
}

function carries(where: string, own: Label, what: unknown, { labels, lost }: World): void {
  for (const word of wordsIn(JSON.stringify(what))) {
    const given = labels.get(word) ?? joinLabels()
    if (JSON.stringify(joinLabels(own, given)) !== JSON.stringify(joinLabels(own))) lost.push(`${where}: ${word}`)
  }
}

function numberFor(own: Label, { labels }: World): number {
  const n = labels.size
  labels.set(wordOf(n), own)
  return n
}

function wordOf(n: number): string {
  return `canary${n}x`
}

function wordsIn(text: string): readonly string[] {
  return [...new Set(text.match(/canary\d+x/g))]
}
