import type { Agent } from '@provost/agent'
import { createAgent, RunState } from '@provost/agent'
import type { AgentEvent, Effect, LabelInit, RunResult } from '@provost/core'
import { defineExtension } from '@provost/core'
import { approvalPolicy, causalityMonitor } from '@provost/governance'
import type { ReceiverCapabilities } from '@provost/governance'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

const to = 'mallory@evil.example'
const denySend = approvalPolicy(({ tool: { name } }) => (name === 'send' ? 'deny' : 'allow'))

/** Tools that note what they were run for. */
function outbox(effect: Effect = 'egress') {
  const ran: string[] = []
  const made = (name: string) =>
    tool({
      name,
      effect,
      input: z.object({ to: z.string() }),
      execute: (input) => `done ${ran.push(`${name} ${input.to}`)}`,
    })
  return { ran, send: made('send'), post: made('post') }
}

type Tools = ReturnType<typeof outbox>
interface Call {
  readonly name: string
  readonly input: object
}
const send = { name: 'send', input: { to } }
const post = { name: 'post', input: { to: 'MALLORY@Evil.Example' } }
const ask = (name: string, task = 'Do what you can.'): Call => ({ name, input: { task } })

/** A child that makes these calls, as a tool of its parent. */
function child(name: string, calls: readonly (readonly Call[])[], tools: Parameters<typeof createAgent>[0]['tools']) {
  const model = scriptedModel([...calls.map((toolCalls) => ({ toolCalls: [...toolCalls] })), { text: 'Tried.' }])
  return createAgent({ name, model, tools: tools ?? [] })
}

const asTool = (agent: Agent) => agent.toTool({ name: agent.name, description: 'Helps.' })

function parent(
  calls: readonly (readonly Call[])[],
  tools: Parameters<typeof createAgent>[0]['tools'],
  extensions = [causalityMonitor({ strictness: 'deny' }), denySend],
  store = memoryStore(),
) {
  const model = scriptedModel([...calls.map((toolCalls) => ({ toolCalls: [...toolCalls] })), { text: 'Done.' }])
  return createAgent({ name: 'desk', model, tools: tools ?? [], extensions, store })
}

async function rulesOf(agent: Agent, input = 'Tell them.'): Promise<{ rules: string[]; result: RunResult }> {
  const events: AgentEvent[] = []
  const stream = agent.stream(input)
  for await (const event of stream) events.push(event)
  const rows = events.filter((event) => event.type === 'governance.blocked' || event.type === 'governance.flagged')
  return { rules: rows.map(({ rule }) => rule), result: await stream.result }
}

describe('what was denied to one run is denied to its tree', () => {
  const paths: readonly [string, (all: Tools) => Agent][] = [
    [
      'a child knows what was denied to its parent',
      ({ send: a, post: b }) => parent([[send], [ask('helper')]], [a, asTool(child('helper', [[post]], [b]))]),
    ],
    [
      'a parent knows what was denied to its child',
      ({ send: a, post: b }) => parent([[ask('helper')], [post]], [b, asTool(child('helper', [[send]], [a]))]),
    ],
    [
      'a child knows what was denied to the one before it',
      ({ send: a, post: b }) =>
        parent(
          [[ask('one')], [ask('two')]],
          [asTool(child('one', [[send]], [a])), asTool(child('two', [[post]], [b]))],
        ),
    ],
    [
      'a grandchild knows what was denied to the first of its line',
      ({ send: a, post: b }) => {
        const inner = child('inner', [[post]], [b])
        return parent([[send], [ask('outer')]], [a, asTool(child('outer', [[ask('inner')]], [asTool(inner)]))])
      },
    ],
    [
      'the first of a line knows what was denied to a grandchild',
      ({ send: a, post: b }) => {
        const inner = child('inner', [[send]], [a])
        return parent([[ask('outer')], [post]], [b, asTool(child('outer', [[ask('inner')]], [asTool(inner)]))])
      },
    ],
    [
      'a child that fails leaves what was denied to it all the same',
      ({ send: a, post: b }) => {
        const broken = defineExtension({
          name: 'broken',
          hooks: { 'model.request': (_, ctx) => (ctx.run.step > 1 ? ctx.stop('broken', 'It broke.') : undefined) },
        })
        const model = scriptedModel([{ toolCalls: [send] }, { text: 'never' }])
        const failing = createAgent({ name: 'helper', model, tools: [a], extensions: [broken] })
        return parent([[ask('helper')], [post]], [b, asTool(failing)])
      },
    ],
  ]

  test.each(paths)('%s', async (_, made) => {
    const tools = outbox()
    const { rules } = await rulesOf(made(tools))
    expect(tools.ran).toEqual([])
    expect(rules).toContain('causality')
  })

  test('a run that has nothing to do with it is not disturbed', async () => {
    const tools = outbox()
    await rulesOf(parent([[send]], [tools.send]))
    await rulesOf(parent([[ask('helper')]], [asTool(child('helper', [[post]], [tools.post]))]))
    expect(tools.ran).toHaveLength(1)
  })

  test('a later run of the session, in another process, knows what was denied to a child', async () => {
    const tools = outbox()
    const store = memoryStore()
    const monitor = () => [causalityMonitor({ strictness: 'deny' }), denySend]
    const helper = asTool(child('helper', [[send]], [tools.send]))
    const { result } = await rulesOf(parent([[ask('helper')]], [helper], monitor(), store))
    const later = parent([[post]], [tools.post], monitor(), store)
    await later.run('And now?', { sessionId: result.sessionId })
    expect(tools.ran).toEqual([])
  })

  test('a child that was started under no monitor and called tools has told nothing: everything is a question then', async () => {
    const tools = outbox()
    const store = memoryStore()
    const helper = asTool(child('helper', [[send]], [tools.send]))
    const { result } = await rulesOf(parent([[ask('helper')]], [helper], [denySend], store))
    const later = parent([[{ name: 'post', input: { to: 'ann@example.com' } }]], [tools.post], undefined, store)
    await later.run('And now?', { sessionId: result.sessionId })
    expect(tools.ran).toEqual([])
  })

  test('a child that was left while a human was asked comes back and knows what was denied meanwhile', async () => {
    const tools = outbox()
    const gate = approvalPolicy(({ tool: { name } }) => (name === 'post' ? 'ask' : name === 'send' ? 'deny' : 'allow'))
    const store = memoryStore()
    const made = () =>
      parent(
        [[send, ask('helper')]],
        [tools.send, asTool(child('helper', [[post]], [tools.post]))],
        [gate, causalityMonitor({ strictness: 'deny' })],
        store,
      )
    let result = await made().run('Tell them.')
    for (let turn = 0; result.status === 'suspended' && turn < 4; turn++) {
      const owner = made()
      const approvals = result.pending.approvals.map(({ id }) => ({ id, decision: 'approve' as const }))
      result = await owner.run(RunState.fromJSON(JSON.parse(JSON.stringify(result.state)), owner), { approvals })
    }
    expect([result.status, tools.ran]).toEqual(['completed', []])
  })
})

describe('who is told something is held to the capability given', () => {
  const monitor = (capabilities: ReceiverCapabilities) => [causalityMonitor({ strictness: 'deny', capabilities })]
  const reads = (label: LabelInit) =>
    tool({ name: 'read', effect: 'read', input: z.object({}), returns: label, execute: () => 'data' })
  const readIt = { name: 'read', input: {} }

  /** What becomes of a child that is told of what was read and sends something itself. */
  async function told(capabilities: ReceiverCapabilities, label: LabelInit = { integrity: 'trusted' }) {
    const tools = outbox()
    const helper = child('helper', [[post]], [tools.post])
    const { rules } = await rulesOf(
      parent([[readIt], [ask('helper')]], [reads(label), asTool(helper)], monitor(capabilities)),
    )
    return { ran: tools.ran.length, rules }
  }

  test('one that may send and hear sends', async () => {
    expect(await told({ helper: { effects: ['read', 'egress'] } })).toEqual({ ran: 1, rules: [] })
  })

  test.each<[string, ReceiverCapabilities, LabelInit]>([
    ['no effects', { helper: {} }, { integrity: 'trusted' }],
    ['another effect', { helper: { effects: ['read', 'write'] } }, { integrity: 'trusted' }],
    ['other tools', { helper: { effects: ['egress'], tools: ['send'] } }, { integrity: 'trusted' }],
    ['nothing that is secret', { helper: { effects: ['egress'] } }, { confidentiality: 'secret' }],
    [
      'nothing but what is public',
      { helper: { effects: ['egress'], confidentiality: 'public' } },
      { confidentiality: 'internal' },
    ],
    ['nothing that outsiders wrote', { helper: { effects: ['egress'], untrusted: false } }, { integrity: 'untrusted' }],
    ['nothing at all', {}, { integrity: 'trusted' }],
    ['what somebody of a similar name was given', { Helper: { effects: ['egress'] } }, { integrity: 'trusted' }],
  ])('one that was given %s is stopped', async (_, capabilities, label) => {
    const { ran, rules } = await told(capabilities, label)
    expect(ran).toBe(0)
    expect(rules).toContain('capability')
  })

  test('an agent with the name of what every object has was given nothing', async () => {
    const tools = outbox()
    const helper = child('constructor', [[post]], [tools.post])
    const { rules } = await rulesOf(parent([[ask('constructor')]], [asTool(helper)], monitor({})))
    expect([tools.ran, rules]).toEqual([[], ['capability']])
  })

  test('what comes back is held to what its receiver may hear', async () => {
    const secret = child('helper', [[readIt]], [reads({ confidentiality: 'secret' })])
    const capabilities = { helper: { confidentiality: 'secret' }, desk: {} } as const
    const { rules } = await rulesOf(parent([[ask('helper')]], [asTool(secret)], monitor(capabilities)))
    expect(rules).toEqual(['capability'])
  })

  test('the target of a handoff has what it was given, not what the first one has', async () => {
    const tools = outbox()
    const transfer = { name: 'transfer_to_clerk', input: { message: 'Go on.' } }
    const run = async (capabilities: ReceiverCapabilities) => {
      const model = scriptedModel([{ toolCalls: [transfer] }, { text: 'Done.' }])
      const clerk = createAgent({
        name: 'clerk',
        model: scriptedModel([{ toolCalls: [post] }, { text: 'Sent.' }]),
        tools: [tools.post],
      })
      return rulesOf(
        createAgent({ name: 'desk', model, tools: [], handoffs: [clerk], extensions: monitor(capabilities) }),
      )
    }
    expect((await run({})).rules).toEqual(['capability'])
    expect((await run({ clerk: { effects: ['read'] } })).rules).toEqual(['capability'])
    expect(tools.ran).toEqual([])
    expect((await run({ clerk: { effects: ['egress'] } })).rules).toEqual([])
    expect(tools.ran).toHaveLength(1)
  })

  test('by default a human is asked; observing only reports; what is unknown is refused', async () => {
    const tools = outbox()
    const helper = () => asTool(child('helper', [[post]], [tools.post]))
    const capabilities = { helper: {} }
    const asked = await parent([[ask('helper')]], [helper()], [causalityMonitor({ capabilities })]).run('go')
    expect([asked.pending.approvals.length, tools.ran]).toEqual([1, []])
    const observed = [causalityMonitor({ capabilities, strictness: 'observe' })]
    const { rules } = await rulesOf(parent([[ask('helper')]], [helper()], observed))
    expect([rules, tools.ran.length]).toEqual([['capability'], 1])
    const strictness: unknown = 'strict'
    // What a caller without types may give.
    expect(() => causalityMonitor({ strictness: strictness as 'deny' })).toThrow(/no strictness "strict"/)
  })
})
