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

/** Returns tools that record their calls. */
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

/** Returns a child agent that makes these calls. */
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

describe('a denial in one run applies to its tree', () => {
  const paths: readonly [string, (all: Tools) => Agent][] = [
    [
      'from a parent to its child',
      ({ send: a, post: b }) => parent([[send], [ask('helper')]], [a, asTool(child('helper', [[post]], [b]))]),
    ],
    [
      'from a child to its parent',
      ({ send: a, post: b }) => parent([[ask('helper')], [post]], [b, asTool(child('helper', [[send]], [a]))]),
    ],
    [
      'from a child to the next child',
      ({ send: a, post: b }) =>
        parent(
          [[ask('one')], [ask('two')]],
          [asTool(child('one', [[send]], [a])), asTool(child('two', [[post]], [b]))],
        ),
    ],
    [
      'from the root to a grandchild',
      ({ send: a, post: b }) => {
        const inner = child('inner', [[post]], [b])
        return parent([[send], [ask('outer')]], [a, asTool(child('outer', [[ask('inner')]], [asTool(inner)]))])
      },
    ],
    [
      'from a grandchild to the root',
      ({ send: a, post: b }) => {
        const inner = child('inner', [[send]], [a])
        return parent([[ask('outer')], [post]], [b, asTool(child('outer', [[ask('inner')]], [asTool(inner)]))])
      },
    ],
    [
      'from a failed child to its parent',
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

  test('an unrelated run is not affected', async () => {
    const tools = outbox()
    await rulesOf(parent([[send]], [tools.send]))
    await rulesOf(parent([[ask('helper')]], [asTool(child('helper', [[post]], [tools.post]))]))
    expect(tools.ran).toHaveLength(1)
  })

  test('a later run of the session in another process knows the denials of a child', async () => {
    const tools = outbox()
    const store = memoryStore()
    const monitor = () => [causalityMonitor({ strictness: 'deny' }), denySend]
    const helper = asTool(child('helper', [[send]], [tools.send]))
    const { result } = await rulesOf(parent([[ask('helper')]], [helper], monitor(), store))
    const later = parent([[post]], [tools.post], monitor(), store)
    await later.run('And now?', { sessionId: result.sessionId })
    expect(tools.ran).toEqual([])
  })

  test('every call is a question after a child without a monitor called tools', async () => {
    const tools = outbox()
    const store = memoryStore()
    const helper = asTool(child('helper', [[send]], [tools.send]))
    const { result } = await rulesOf(parent([[ask('helper')]], [helper], [denySend], store))
    const later = parent([[{ name: 'post', input: { to: 'ann@example.com' } }]], [tools.post], undefined, store)
    await later.run('And now?', { sessionId: result.sessionId })
    expect(tools.ran).toEqual([])
  })

  test('a child that resumes after an approval knows what was denied meanwhile', async () => {
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

describe('an agent that receives data is limited to its declared capability', () => {
  const monitor = (capabilities: ReceiverCapabilities) => [causalityMonitor({ strictness: 'deny', capabilities })]
  const reads = (label: LabelInit) =>
    tool({ name: 'read', effect: 'read', input: z.object({}), returns: label, execute: () => 'data' })
  const readIt = { name: 'read', input: {} }

  /** Returns the outcome of a child that receives the page and sends something itself. */
  async function told(capabilities: ReceiverCapabilities, label: LabelInit = { integrity: 'trusted' }) {
    const tools = outbox()
    const helper = child('helper', [[post]], [tools.post])
    const { rules } = await rulesOf(
      parent([[readIt], [ask('helper')]], [reads(label), asTool(helper)], monitor(capabilities)),
    )
    return { ran: tools.ran.length, rules }
  }

  test('an agent that may send and receive sends', async () => {
    expect(await told({ helper: { effects: ['read', 'egress'] } })).toEqual({ ran: 1, rules: [] })
  })

  test.each<[string, ReceiverCapabilities, LabelInit]>([
    ['no effects', { helper: {} }, { integrity: 'trusted' }],
    ['another effect', { helper: { effects: ['read', 'write'] } }, { integrity: 'trusted' }],
    ['other tools', { helper: { effects: ['egress'], tools: ['send'] } }, { integrity: 'trusted' }],
    ['no secret data', { helper: { effects: ['egress'] } }, { confidentiality: 'secret' }],
    [
      'public data only',
      { helper: { effects: ['egress'], confidentiality: 'public' } },
      { confidentiality: 'internal' },
    ],
    ['no untrusted data', { helper: { effects: ['egress'], untrusted: false } }, { integrity: 'untrusted' }],
    ['no capability at all', {}, { integrity: 'trusted' }],
    ['a capability under a name in other case', { Helper: { effects: ['egress'] } }, { integrity: 'trusted' }],
  ])('an agent with %s is stopped', async (_, capabilities, label) => {
    const { ran, rules } = await told(capabilities, label)
    expect(ran).toBe(0)
    expect(rules).toContain('capability')
  })

  test('an agent named like an inherited property has no capability', async () => {
    const tools = outbox()
    const helper = child('constructor', [[post]], [tools.post])
    const { rules } = await rulesOf(parent([[ask('constructor')]], [asTool(helper)], monitor({})))
    expect([tools.ran, rules]).toEqual([[], ['capability']])
  })

  test('a returned result is limited to what its receiver may read', async () => {
    const secret = child('helper', [[readIt]], [reads({ confidentiality: 'secret' })])
    const capabilities = { helper: { confidentiality: 'secret' }, desk: {} } as const
    const { rules } = await rulesOf(parent([[ask('helper')]], [asTool(secret)], monitor(capabilities)))
    expect(rules).toEqual(['capability'])
  })

  test('the target of a handoff has its own capability, not that of the first agent', async () => {
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

  test('the policy asks a human by default, only reports when it observes, and rejects unknown options', async () => {
    const tools = outbox()
    const helper = () => asTool(child('helper', [[post]], [tools.post]))
    const capabilities = { helper: {} }
    const asked = await parent([[ask('helper')]], [helper()], [causalityMonitor({ capabilities })]).run('go')
    expect([asked.pending.approvals.length, tools.ran]).toEqual([1, []])
    const observed = [causalityMonitor({ capabilities, strictness: 'observe' })]
    const { rules } = await rulesOf(parent([[ask('helper')]], [helper()], observed))
    expect([rules, tools.ran.length]).toEqual([['capability'], 1])
    const strictness: unknown = 'strict'
    // Options of an untyped caller.
    expect(() => causalityMonitor({ strictness: strictness as 'deny' })).toThrow(/Unknown strictness "strict"/)
  })
})
