import { createAgent, RunState } from '@provost/agent'
import type { Agent } from '@provost/agent'
import type { Label, SessionStore } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import { assertWellFormed, scriptedModel } from '@provost/testing'
import type { ScriptedPrompt, ScriptedStep } from '@provost/testing'
import { tool } from '@provost/tools'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

import { collect, only } from '../run/run-check.ts'
import { fannedOut } from './fan-out-world.ts'

const usage = { inputTokens: 10, outputTokens: 5 }
const vault: Label = { integrity: 'untrusted', confidentiality: 'secret', sources: ['vault'] }

/** Goes by what it is sent, so that it goes on in any process. */
function afterwards(first: ScriptedStep, text: string, modelId: string, asked: string[] = []) {
  const step = (prompt: ScriptedPrompt): ScriptedStep => {
    asked.push(modelId)
    return prompt.messages.at(-1)?.role === 'tool' ? { text, usage } : { ...first, usage }
  }
  return scriptedModel([step], { modelId, after: 'repeat-last' })
}

const calling = (name: string): ScriptedStep => ({ toolCalls: [{ name, input: {} }] })

interface World {
  readonly store: SessionStore
  readonly asked: string[]
  readonly paid: string[]
}

/** A desk whose tool fans out to work of this process, in which agents are run. */
function desk({ store, asked, paid }: World): Agent {
  const look = tool({ name: 'look', input: z.object({}), returns: vault, execute: () => 'the file' })
  const pay = tool({
    name: 'pay',
    input: z.object({}),
    needsApproval: true,
    execute: (_, ctx) => {
      paid.push(ctx.callId)
      return 'paid'
    },
  })
  const reader = createAgent({
    name: 'reader',
    model: afterwards(calling('look'), 'read', 'reader', asked),
    tools: [look],
  })
  const payer = createAgent({ name: 'payer', model: afterwards(calling('pay'), 'done', 'payer', asked), tools: [pay] })
  const work = tool({
    name: 'work',
    input: z.object({}),
    composite: true,
    async execute(_, ctx) {
      const { output, children } = await ctx.fanOut({
        children: [
          {
            agentId: 'chain',
            async invoke() {
              const first = await reader.run('Read.')
              const second = await payer.run(`Pay: ${first.text}`)
              return `${first.text}, ${second.text}`
            },
          },
        ],
        mergeStrategy: 'concat',
      })
      return `${output} ${children[0]?.usage.inputTokens} ${children[0]?.label.confidentiality}`
    },
  })
  return createAgent({
    name: 'desk',
    model: afterwards(calling('work'), 'all done', 'desk', asked),
    tools: [work],
    store,
  })
}

describe('agents that are run in the work of a fan-out', () => {
  test('are children of the run: their events, waits, usage and labels are its own', async () => {
    const world = { store: memoryStore(), asked: [], paid: [] }
    const { events, result } = await collect(desk(world).stream('Go.', { onApproval: () => 'approve' }))
    expect(result).toMatchObject({ status: 'completed', text: 'all done', usage: { inputTokens: 60 } })
    expect(only(events, 'tool.execute.end').at(-1)?.output).toEqual({ type: 'text', value: 'read, done 40 secret' })
    const inner = events.filter(({ agent }) => agent === 'reader' || agent === 'payer')
    expect(new Set(inner.map(({ parents }) => parents.join()))).toEqual(new Set([result.runId]))
    const ends = only(events, 'agent.end').map(({ agent, status }) => `${agent} ${status}`)
    expect(ends).toEqual(['reader completed', 'payer suspended', 'payer completed', 'desk completed'])
    assertWellFormed(result.messages)
  })

  test('wait in the outermost run, and continue in another process; none that has ended is asked again', async () => {
    const world: World = { store: memoryStore(), asked: [], paid: [] }
    const waiting = await desk(world).run('Go.')
    expect(waiting.status).toBe('suspended')
    const [approval] = waiting.pending.approvals
    expect(approval).toMatchObject({ toolName: 'pay', agent: 'payer' })
    expect(world.asked).toEqual(['desk', 'reader', 'reader', 'payer'])
    const agent = desk(world)
    const state = RunState.fromJSON(JSON.stringify(waiting.state), agent)
    const result = await agent.run(state, { approvals: [{ id: approval?.id ?? '', decision: 'approve' }] })
    expect(result).toMatchObject({ status: 'completed', text: 'all done', usage: { inputTokens: 60 } })
    expect(world.asked.slice(4)).toEqual(['payer', 'desk'])
    expect(world.paid).toHaveLength(1)
  })

  test('are held to the budget of the child, and end with it', async () => {
    const spender = createAgent({
      name: 'spender',
      model: scriptedModel([{ ...calling('look'), usage }], { after: 'repeat-last' }),
      tools: [tool({ name: 'look', input: z.object({}), execute: () => 'seen' })],
    })
    const { children } = await fannedOut({
      children: [{ agentId: 'work', invoke: async () => (await spender.run('Go.')).error?.code }],
      mergeStrategy: 'concat',
      perBudget: { tokens: 40 },
    })
    expect(children[0]).toMatchObject({ output: 'budget-exceeded', usage: { inputTokens: 30 } })
  })

  test('stay on their own where they are of a session, and in the tools of a child', async () => {
    const store = memoryStore()
    const ids: string[] = []
    const plain = createAgent({
      name: 'plain',
      model: scriptedModel([{ text: 'ok' }], { after: 'repeat-last' }),
      store,
    })
    const inside = tool({
      name: 'inside',
      input: z.object({}),
      async execute() {
        ids.push((await plain.run('Go.')).sessionId)
        return 'ok'
      },
    })
    const child = createAgent({ name: 'child', model: afterwards(calling('inside'), 'ok', 'child'), tools: [inside] })
    await fannedOut(
      {
        children: [
          {
            agentId: 'work',
            async invoke() {
              ids.push((await plain.run('Go.', { sessionId: 'mine' })).sessionId)
              ids.push((await child.run('Go.')).sessionId)
              return 'ok'
            },
          },
        ],
        mergeStrategy: 'concat',
      },
      { store },
    )
    const [mine, inTool, joined] = ids
    expect(mine).toBe('mine')
    expect(new Set([mine, inTool, joined]).size).toBe(3)
  })
})
