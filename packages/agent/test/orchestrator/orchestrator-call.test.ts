import type { AgentOptions, Orchestrator } from '@provost/agent'
import { createAgent, handoff } from '@provost/agent'
import { defineExtension, textOf, untrustedLabel } from '@provost/core'
import { attributionOf, memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import type { ScriptedPrompt, ScriptedStep } from '@provost/testing'
import { tool } from '@provost/tools'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'

import { collect, expectSound, only, readLog } from '../run/run-check.ts'

const look = tool({
  name: 'look',
  input: z.object({ n: z.number() }),
  effect: 'read',
  execute: ({ n }) => ({ seen: n }),
})

/** A tool that must be approved, and the amounts that were paid with it. */
function payTool() {
  const paid: number[] = []
  const pay = tool({
    name: 'pay',
    input: z.object({ n: z.number() }),
    needsApproval: true,
    execute: ({ n }) => {
      paid.push(n)
      return `paid ${n}`
    },
  })
  return { pay, paid }
}

function agentOf(
  orchestrator: Orchestrator,
  {
    steps = [{ text: 'Done.' }],
    ...more
  }: Partial<AgentOptions> & { readonly steps?: Parameters<typeof scriptedModel>[0] } = {},
) {
  const model = scriptedModel(steps, { after: 'error' })
  return createAgent({ name: 'led', model, tools: [look], orchestrator, ...more })
}

describe('run.callTool', () => {
  test('returns the typed result, and the model sees the call and the result', async () => {
    const prompts: string[][] = []
    const reads = (prompt: ScriptedPrompt): ScriptedStep => {
      prompts.push(prompt.messages.map(({ role }) => role))
      return { text: 'Done.' }
    }
    const orchestrator: Orchestrator = async (run) => {
      const result = await run.callTool(look, { n: 3 })
      expectTypeOf(result.value).toEqualTypeOf<{ seen: number } | undefined>()
      expect(result).toMatchObject({ outcome: 'ok', via: 'executed', value: { seen: 3 }, input: { n: 3 } })
      await run.model()
    }
    const agent = agentOf(orchestrator, { steps: [reads] })
    const seen = await collect(agent.stream('Go.'))
    expectSound(seen)
    expect(seen.result).toMatchObject({ status: 'completed', text: 'Done.' })
    expect(seen.result.messages.map(({ role, purpose }) => purpose ?? role)).toEqual([
      'user',
      'orchestrator',
      'tool',
      'assistant',
    ])
    expect(prompts.map((roles) => roles.slice(-3))).toEqual([['user', 'assistant', 'tool']])
  })

  test('is a step of its own, with the events of a call', async () => {
    const agent = agentOf(
      async (run) => {
        await run.callTool('look', { n: 1 })
        await run.callTool('look', { n: 2 })
        await run.model()
        await run.execute()
        await run.callTool('look', { n: 3 })
        await run.model()
      },
      { steps: [{ toolCalls: [{ name: 'look', input: { n: 9 } }] }, { text: 'Done.' }] },
    )
    const seen = await collect(agent.stream('Go.'))
    expectSound(seen)
    const started = only(seen.events, 'tool.execute.start')
    expect(started.map(({ input, step }) => [input, step])).toEqual([
      [{ n: 1 }, 1],
      [{ n: 2 }, 2],
      [{ n: 9 }, 3],
      [{ n: 3 }, 4],
    ])
    expect(only(seen.events, 'tool.execute.end')).toHaveLength(4)
    expect(new Set(seen.result.messages.map(({ id }) => id)).size).toBe(seen.result.messages.length)
  })

  test('reports a failure as the outcome', async () => {
    const outcomes: string[] = []
    const agent = agentOf(async (run) => {
      for (const [name, input] of [
        ['look', { n: 'many' }],
        ['missing', {}],
      ] as const)
        outcomes.push((await run.callTool(name, input)).error?.code ?? 'none')
      await run.model()
    })
    await agent.run('Go.')
    expect(outcomes).toEqual(['invalid-tool-input', 'unknown-tool'])
  })

  test('passes the hooks of calls and results, with the label of the conversation or its own', async () => {
    const labels: unknown[] = []
    const guard = defineExtension({
      name: 'guard',
      hooks: {
        'tool.call': (call) => {
          labels.push(call.label?.integrity)
          return call.label?.integrity === 'untrusted' ? { deny: 'not with that' } : undefined
        },
        'tool.result': (result) => ({ ...result, output: { type: 'text', value: 'hidden' } }),
      },
    })
    const results: unknown[] = []
    const agent = agentOf(
      async (run) => {
        results.push(await run.callTool('look', { n: 1 }, { integrity: 'trusted' }))
        results.push(await run.callTool('look', { n: 2 }, untrustedLabel('web')))
        await run.model()
      },
      { extensions: [guard] },
    )
    await agent.run('Go.')
    expect(labels).toEqual(['trusted', 'untrusted'])
    expect(results).toMatchObject([{ value: 'hidden' }, { outcome: 'denied', error: { code: 'tool-denied' } }])
  })

  test('may call deferred tools, and tools that the model is not offered', async () => {
    const hidden = tool({ name: 'hidden', input: z.object({}), deferLoading: true, execute: () => 'found' })
    const agent = agentOf(
      async (run) => {
        await run.model({ tools: [], output: 'text' })
        expect(await run.callTool('look', { n: 1 })).toMatchObject({ outcome: 'ok' })
        expect(await run.callTool(hidden, {})).toMatchObject({ outcome: 'ok', value: 'found' })
        await run.model()
      },
      { tools: [look, hidden], steps: [{ text: 'First.' }, { text: 'Done.' }] },
    )
    expect(await agent.run('Go.')).toMatchObject({ status: 'completed' })
  })

  test('waits for an approval over a suspension, and is made once', async () => {
    const { pay, paid } = payTool()
    const store = memoryStore()
    const agent = agentOf(
      async (run) => {
        const { outcome, value } = await run.callTool(pay, { n: 5 })
        await run.say(`${outcome}: ${value}`)
        await run.model()
      },
      { tools: [pay], store },
    )
    const asked = await agent.run('Go.', { sessionId: 's' })
    expect(asked.status).toBe('suspended')
    const [approval] = asked.pending.approvals
    expect(approval).toMatchObject({ toolName: 'pay', input: { n: 5 } })
    const done = await agent.run(asked.state, { approvals: [{ id: approval?.id ?? '', decision: 'approve' }] })
    expect(done).toMatchObject({ status: 'completed', text: 'Done.' })
    expect(paid).toEqual([5])
    expect(done.messages.map((message) => textOf(message))).toContain('ok: paid 5')
    const entries = await readLog(store, 's')
    const rows: string[] = []
    for await (const { messageId } of attributionOf(entries)) rows.push(messageId)
    expect(rows).toEqual(done.messages.map(({ id }) => id))
  })

  test('lets steering input enter first, so that the call sees it', async () => {
    const agent = agentOf(async (run) => {
      await run.callTool('look', { n: 1 })
      await run.model()
    })
    const stream = agent.stream('Go.')
    stream.steer('Wait.')
    const { result } = await collect(stream)
    expect(result.messages.map(({ role }) => role)).toEqual(['user', 'user', 'assistant', 'tool', 'assistant'])
  })

  test('is rejected while calls of the model wait', async () => {
    const agent = agentOf(
      async (run) => {
        await run.model()
        await expect(run.callTool('look', { n: 1 })).rejects.toMatchObject({ code: 'tool-calls-pending' })
        await run.execute()
        await run.model()
      },
      { steps: [{ toolCalls: [{ name: 'look', input: { n: 1 } }] }, { text: 'Done.' }] },
    )
    expect(await agent.run('Go.')).toMatchObject({ status: 'completed' })
  })

  test('counts as a step: the limit of steps ends an orchestrator that only calls tools', async () => {
    const agent = agentOf(async (run) => {
      for (;;) await run.callTool('look', { n: 1 })
    })
    expect(await agent.run('Go.', { maxSteps: 4 })).toMatchObject({ status: 'failed', error: { code: 'max-steps' } })
  })

  test('with another input than its log has fails the run', async () => {
    const { pay, paid } = payTool()
    let n = 0
    const agent = agentOf(
      async (run) => {
        await run.callTool(pay, { n: n++ })
        await run.model()
      },
      { tools: [pay], store: memoryStore() },
    )
    const { state, pending } = await agent.run('Go.', { sessionId: 's' })
    const id = pending.approvals[0]?.id ?? ''
    const result = await agent.run(state, { approvals: [{ id, decision: 'approve' }] })
    expect(result).toMatchObject({ status: 'failed', error: { code: 'orchestrator-diverged' } })
    expect(paid).toEqual([])
  })

  test('hands over with the tool of a handoff', async () => {
    const target = createAgent({ name: 'target', model: scriptedModel([{ text: 'Mine now.' }]) })
    const agent = agentOf(
      async (run) => {
        await run.callTool('transfer_to_target', { message: 'Take it.' })
      },
      { handoffs: [handoff(target)] },
    )
    expect(await agent.run('Go.')).toMatchObject({ status: 'completed', text: 'Mine now.' })
  })
})
