import { createAgent } from '@provost/agent'
import type { AgentOptions } from '@provost/agent'
import type { AgentEvent } from '@provost/core'
import { exportSession, importSession, memoryStore } from '@provost/sessions'
import { effectServer, scriptedModel } from '@provost/testing'
import type { EffectFault, EffectServer } from '@provost/testing'
import { tool } from '@provost/tools'
import { afterEach, describe, expect, it } from 'vitest'
import { z } from 'zod'

let bank: EffectServer
afterEach(() => bank.close())

const call = { name: 'pay', input: { invoice: '17' } }

/** A desk that pays invoice 17 twice; the faults are those of the bank. */
async function desk(
  faults: readonly EffectFault[],
  { lookup = false, keyed = true, ...options }: Partial<AgentOptions> & { lookup?: boolean; keyed?: boolean } = {},
) {
  bank = await effectServer({ knowsKeys: false, faults })
  const pay = tool({
    name: 'pay',
    input: z.object({ invoice: z.string() }),
    ...(keyed && { effectKey: ({ invoice }: { invoice: string }) => invoice }),
    async execute({ invoice }, { idempotencyKey }) {
      const headers = { 'idempotency-key': idempotencyKey }
      return (await fetch(`${bank.url}/effects`, { method: 'POST', headers, body: JSON.stringify(invoice) })).text()
    },
    ...(lookup && {
      lookup: async (key: string) => ((await fetch(`${bank.url}/effects/${key}`)).ok ? { output: 'found' } : undefined),
    }),
  })
  const model = scriptedModel([{ toolCalls: [call] }, { toolCalls: [call] }, { text: 'done' }])
  return createAgent({ name: 'desk', model, tools: [pay], store: memoryStore(), ...options, output: undefined })
}

/** What the events show of effects, as lines such as `end 17 confirmed 1 call`. */
function shown(events: readonly AgentEvent[]): readonly string[] {
  return events.flatMap((event) => {
    if (!('effectStatus' in event) || !event.effectStatus) return []
    const { key = '-', state, attempt, by, clearedBy } = event.effectStatus
    const name = event.type.split('.').at(-1)
    return [`${name} ${key} ${state} ${attempt} ${by}${clearedBy === undefined ? '' : ` cleared by ${clearedBy}`}`]
  })
}

async function eventsOf(stream: AsyncIterable<AgentEvent>): Promise<readonly AgentEvent[]> {
  const events: AgentEvent[] = []
  for await (const event of stream) events.push(event)
  return events
}

describe('the events of a call show its effect', () => {
  it('dispatched and confirmed, and confirmed again where the ledger answers', async () => {
    const events = await eventsOf((await desk([])).stream('pay'))
    expect(shown(events)).toEqual(['start 17 dispatched 1 call', 'end 17 confirmed 1 call', 'end 17 confirmed 1 call'])
  })

  it('found by a lookup after a lost reply', async () => {
    const events = await eventsOf((await desk(['lose-reply'], { lookup: true })).stream('pay'))
    expect(shown(events)).toEqual([
      'start 17 dispatched 1 call',
      'error 17 unknown 1 call',
      'end 17 confirmed 1 lookup',
    ])
  })

  it('attempted again once a lookup has proved that there was none', async () => {
    const events = await eventsOf((await desk(['drop'], { lookup: true })).stream('pay'))
    expect(shown(events)).toEqual([
      'start 17 dispatched 1 call',
      'error 17 unknown 1 call',
      'start 17 dispatched 2 call cleared by lookup',
      'end 17 confirmed 2 call cleared by lookup',
    ])
  })

  it('in doubt where a human is asked, with the answer', async () => {
    const agent = await desk(['drop'])
    const events = await eventsOf(agent.stream('pay'))
    expect(shown(events)).toEqual([
      'start 17 dispatched 1 call',
      'error 17 unknown 1 call',
      'uncertain 17 unknown 1 call',
    ])
    const suspended = events.find((event) => event.type === 'agent.suspended')
    const [asked] = suspended?.pending.uncertain ?? []
    expect(asked?.effectStatus).toEqual({ key: '17', scope: 'session', attempt: 1, state: 'unknown', by: 'call' })
    const started = events.find((event) => event.type === 'agent.start')
    const session = await agent.resumeSession(started?.sessionId ?? '')
    const uncertain = [{ callId: asked?.callId ?? '', decision: 'retry' as const }]
    expect(shown(await eventsOf(session.resume({ uncertain })))).toEqual([
      'start 17 dispatched 2 call cleared by human',
      'end 17 confirmed 2 call cleared by human',
    ])
  })

  it('confirmed by a human who says that it took place', async () => {
    const agent = await desk(['lose-reply'])
    const { state, pending } = await agent.run('pay')
    const uncertain = pending.uncertain.map(({ callId }) => ({ callId, decision: 'done' as const, output: 'paid' }))
    expect(shown(await eventsOf(agent.stream(state, { uncertain })))).toEqual(['end 17 confirmed 1 human'])
  })

  it('without a key, where the outcome of a call is unknown', async () => {
    const events = await eventsOf((await desk(['lose-reply'], { keyed: false, lookup: true })).stream('pay'))
    expect(shown(events)).toEqual(['error - unknown 1 call', 'end - confirmed 1 lookup'])
  })
})

it('a session in which the ledger answered a call can be exported and imported', async () => {
  const [from, to] = [memoryStore(), memoryStore()]
  const { sessionId } = await (await desk([], { store: from })).run('pay')
  const lines: string[] = []
  for await (const line of exportSession(from, sessionId)) lines.push(line)
  expect((await importSession(to, lines.join('\n'))).sessionId).toBeDefined()
})
