import { RunState } from '@provost/agent'
import { defineExtension } from '@provost/core'
import { modelFallback } from '@provost/provider'
import { memoryStore } from '@provost/sessions'
import { planAndExecute } from '@provost/teams'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'

import { drawSpans } from '../../src/index.ts'
import { attributesOf, doneStep, look, lookStep, traced, treeOf } from '../traced.ts'

const busy = Object.assign(new Error('slow down'), { status: 429, responseHeaders: { 'retry-after': '0' } })
const refund = tool({
  name: 'refund',
  effect: 'write',
  needsApproval: true,
  input: z.object({ order: z.number() }),
  execute: ({ order }) => `refunded ${order}`,
})
const refundStep = { toolCalls: [{ name: 'refund', input: { order: 17 } }] }

describe('the span tree of a run that', () => {
  it('completed', async () => {
    const { agent, tree } = traced()
    await agent.run('go')
    expect(tree()).toEqual([
      'invoke_agent desk  completed',
      '├─ chat scripted-model  10 → 2 tokens · tool-calls',
      '├─ execute_tool look',
      '└─ chat scripted-model  15 → 1 tokens · stop',
    ])
  })

  it('called tools in parallel', async () => {
    const { agent, tree } = traced([
      {
        toolCalls: [
          { name: 'look', input: { at: 'a' } },
          { name: 'look', input: { at: 1 } },
          { name: 'look', input: { at: 'b' } },
        ],
      },
      doneStep,
    ])
    await agent.run('go')
    expect(tree()).toEqual([
      'invoke_agent desk  completed',
      '├─ chat scripted-model  tool-calls',
      '├─ · tool.refused  name look · type invalid-tool-input',
      '├─ execute_tool look',
      '├─ execute_tool look',
      '└─ chat scripted-model  15 → 1 tokens · stop',
    ])
  })

  it('failed', async () => {
    const { agent, tree } = traced([lookStep, { error: Object.assign(new Error('no key'), { status: 401 }) }])
    await agent.run('go')
    expect(tree()).toEqual([
      'invoke_agent desk  failed · auth',
      '├─ chat scripted-model  10 → 2 tokens · tool-calls',
      '├─ execute_tool look',
      '├─ chat scripted-model  auth',
      '└─ · error  source model scripted/scripted-model · type auth',
    ])
  })

  it('had a tool that threw, and one that timed out', async () => {
    const fails = tool({ name: 'fails', input: z.object({}), execute: () => Promise.reject(new Error('no disk')) })
    const hangs = tool({ name: 'hangs', timeoutMs: 1, input: z.object({}), execute: () => new Promise(() => {}) })
    const steps = [{ toolCalls: [{ name: 'fails' }, { name: 'hangs' }] }, doneStep]
    const { agent, tree } = traced(steps, { tools: [fails, hangs] })
    await agent.run('go')
    expect(tree()).toEqual([
      'invoke_agent desk  completed',
      '├─ chat scripted-model  tool-calls',
      '├─ execute_tool fails  tool-failed',
      '├─ execute_tool hangs  tool-timeout',
      '└─ chat scripted-model  15 → 1 tokens · stop',
    ])
  })

  it('was aborted while a tool ran', async () => {
    const running = Promise.withResolvers<void>()
    const execute = (): Promise<never> => {
      running.resolve()
      return new Promise(() => {})
    }
    const hangs = tool({ name: 'hangs', input: z.object({}), execute })
    const { agent, tree } = traced([{ toolCalls: [{ name: 'hangs' }] }], { tools: [hangs] })
    const stream = agent.stream('go')
    await running.promise
    await stream.abort({ graceMs: 0 })
    expect(tree()).toEqual([
      'invoke_agent desk  aborted',
      '├─ chat scripted-model  tool-calls',
      '└─ execute_tool hangs  tool-aborted',
    ])
  })

  it('was aborted while the model streamed', async () => {
    const { agent, tree } = traced([{ text: 'x', stall: true }])
    const stream = agent.stream('go')
    for await (const { type } of stream) if (type === 'text.delta') void stream.abort({ graceMs: 0 })
    expect(tree()).toEqual(['invoke_agent desk  aborted', '└─ chat scripted-model  aborted'])
  })

  it('was stopped by an input hook', async () => {
    const door = defineExtension({
      name: 'door',
      hooks: { input: (_message, ctx) => ctx.stop('closed', 'We are closed.') },
    })
    const { agent, tree } = traced([doneStep], { extensions: [door] })
    await agent.run('go')
    expect(tree()).toEqual(['invoke_agent desk  failed · closed', '└─ · error  source hook door · type closed'])
  })

  it('retried, then used a fallback model', async () => {
    const spare = scriptedModel([doneStep], { provider: 'spare', modelId: 'spare-model' })
    const again = defineExtension({
      name: 'again',
      hooks: { 'model.error': (failure) => (failure.class === 'network' ? { retryAfterMs: 0 } : undefined) },
    })
    const { agent, tree } = traced([{ error: new TypeError('terminated') }, { error: busy }], {
      extensions: [again, modelFallback([spare], { on: ['rate-limit'] })],
    })
    await agent.run('go')
    expect(tree()).toEqual([
      'invoke_agent desk  completed',
      '├─ chat scripted-model  network',
      '├─ · model.retry  model scripted/scripted-model · type network · attempt 1 · retry_after_s 0',
      '├─ chat scripted-model  rate-limit',
      '├─ · model.fallback  from scripted/scripted-model · to spare/spare-model · type rate-limit',
      '└─ chat spare-model  15 → 1 tokens · stop',
    ])
  })

  it('was suspended, and resumed in another process', async () => {
    const store = memoryStore()
    const first = traced([refundStep], { tools: [refund], store })
    const { state, sessionId } = await first.agent.run('go')
    const before = first.take()
    const json = JSON.stringify(state)

    const second = traced([doneStep], { tools: [refund], store })
    const resumed = RunState.fromJSON(json, second.agent)
    const [approval] = (await second.agent.resumeSession(sessionId)).pending.approvals
    await second.agent.run(resumed, { approvals: [{ id: approval?.id ?? '', decision: 'approve', by: 'ann' }] })
    const after = second.take()

    expect(treeOf(before)).toEqual([
      'invoke_agent desk  suspended',
      '├─ chat scripted-model  tool-calls',
      '├─ · approval.requested  name refund · effect write · integrity trusted',
      '└─ · run.suspended  approvals 1',
    ])
    expect(treeOf(after).map((line) => line.replace(/waited_s [\d.]+/, 'waited_s S'))).toEqual([
      'invoke_agent desk  completed · linked to an earlier span',
      '├─ · approval.resolved  name refund · decision approve · by ann · waited_s S',
      '├─ execute_tool refund',
      '└─ chat scripted-model  15 → 1 tokens · stop',
    ])
    const [root] = after
    expect(root?.links).toEqual([{ traceId: before[0]?.traceId, spanId: before[0]?.spanId }])
    expect(root?.traceId).not.toBe(before[0]?.traceId)
    expect(root?.attributes).toMatchObject({ 'provost.run.resumed': true, 'gen_ai.conversation.id': sessionId })
  })

  it('was flagged and blocked by policies', async () => {
    const policy = defineExtension({
      name: 'policy',
      hooks: {
        async 'tool.call'(call, ctx) {
          const row = { callId: call.callId, sources: ['mail:17'], evidence: { to: 'eve@example.com' } }
          await ctx.audit('flagged', { rule: 'watch', ...row })
          if (call.tool.name !== 'refund') return
          await ctx.audit('blocked', { rule: 'no-refunds', ...row })
          return { deny: 'no' }
        },
      },
    })
    const { agent, tree } = traced([refundStep, lookStep, doneStep], { tools: [refund, look], extensions: [policy] })
    await agent.run('go')
    expect(tree()).toEqual([
      'invoke_agent desk  completed',
      '├─ chat scripted-model  tool-calls',
      '├─ · governance.flagged  rule watch · sources mail:17',
      '├─ · governance.blocked  rule no-refunds · sources mail:17',
      '├─ · tool.refused  name refund · type tool-denied',
      '├─ chat scripted-model  10 → 2 tokens · tool-calls',
      '├─ · governance.flagged  rule watch · sources mail:17',
      '├─ execute_tool look',
      '└─ chat scripted-model  15 → 1 tokens · stop',
    ])
  })

  it('made a plan and executed its steps', async () => {
    const { agent, tree } = traced([{ text: '{"steps": ["look"]}' }, lookStep, { text: 'seen' }, doneStep], {
      orchestrator: planAndExecute(),
    })
    await agent.run('go')
    expect(tree()).toEqual([
      'invoke_agent desk  completed',
      '├─ chat scripted-model  stop',
      '├─ plan desk',
      '├─ invoke_workflow step 1 of 1',
      '│  ├─ chat scripted-model  10 → 2 tokens · tool-calls',
      '│  ├─ execute_tool look',
      '│  └─ chat scripted-model  stop',
      '└─ chat scripted-model  15 → 1 tokens · stop',
    ])
  })

  it('had hooks that called models', async () => {
    const asks = defineExtension({
      name: 'asks',
      hooks: { context: async (_view, ctx) => void (await ctx.generate({ prompt: 'Is it long?' })) },
    })
    const { agent, tree } = traced([{ text: 'No.' }, doneStep], { extensions: [asks] })
    await agent.run('go')
    expect(tree()).toEqual([
      'invoke_agent desk  completed',
      '├─ chat scripted-model  stop · generated',
      '└─ chat scripted-model  15 → 1 tokens · stop',
    ])
  })

  it('had a composite tool that waited in one of its calls', async () => {
    const both = tool({
      name: 'both',
      effect: 'none',
      composite: true,
      input: z.object({}),
      async execute(_input, ctx) {
        await ctx.call('look', { at: 'here' }, { key: 'a' })
        await ctx.call('refund', { order: 17 }, { key: 'b' })
        return 'both done'
      },
    })
    const store = memoryStore()
    const { agent, tree } = traced([{ toolCalls: [{ name: 'both' }] }, doneStep], {
      tools: [both, look, refund],
      store,
    })
    const { state, pending } = await agent.run('go')
    expect(tree()).toEqual([
      'invoke_agent desk  suspended',
      '├─ chat scripted-model  tool-calls',
      '├─ execute_tool both',
      '│  └─ execute_tool look',
      '├─ · approval.requested  name refund · effect write · integrity untrusted',
      '└─ · run.suspended  approvals 1',
    ])
    await agent.run(state, { approvals: pending.approvals.map(({ id }) => ({ id, decision: 'approve', by: 'ann' })) })
    expect(tree().map((line) => line.replace(/waited_s [\d.]+/, 'waited_s S'))).toEqual([
      'invoke_agent desk  completed · linked to an earlier span',
      '├─ · approval.resolved  name refund · decision approve · by ann · waited_s S',
      '├─ execute_tool both',
      '│  └─ execute_tool refund',
      '└─ chat scripted-model  15 → 1 tokens · stop',
    ])
  })

  it('was steered and retrieved documents', async () => {
    const { agent, tree } = traced([lookStep, doneStep], {}, { retrievalTools: ['look'] })
    const stream = agent.stream('go')
    for await (const { type } of stream) if (type === 'tool.execute.start') stream.steer('and now?')
    expect(tree()).toEqual([
      'invoke_agent desk  completed',
      '├─ chat scripted-model  10 → 2 tokens · tool-calls',
      '├─ retrieval look',
      '├─ · steered',
      '└─ chat scripted-model  15 → 1 tokens · stop',
    ])
  })
})

describe('spans have', () => {
  it('the agent, the session and the request parameters', async () => {
    const { agent, take } = traced([lookStep, doneStep], {
      settings: { temperature: 0.5, maxOutputTokens: 100 },
      prices: { 'scripted/scripted-model': { input: 1, output: 1 } },
    })
    const { runId, sessionId } = await agent.run('go', { principal: { id: 'ann' } })
    const spans = take()
    const shared = { 'gen_ai.conversation.id': sessionId, 'session.id': sessionId, 'user.id': 'ann' }
    expect(attributesOf(spans, 'invoke_agent')).toEqual({
      ...shared,
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': 'desk',
      'provost.run.id': runId,
      'provost.run.status': 'completed',
      'provost.steps': 2,
      'provost.cost_usd': 0.000028,
      'provost.usage.input_tokens': 25,
      'provost.usage.output_tokens': 3,
      'provost.inference_calls': 2,
      'provost.tool_calls': 1,
    })
    expect(attributesOf(spans, 'chat')).toEqual({
      ...shared,
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'scripted',
      'gen_ai.request.model': 'scripted-model',
      'gen_ai.request.temperature': 0.5,
      'gen_ai.request.max_tokens': 100,
      'gen_ai.response.finish_reasons': ['tool-calls'],
      'gen_ai.response.time_to_first_chunk': expect.any(Number),
      'gen_ai.usage.input_tokens': 10,
      'gen_ai.usage.output_tokens': 2,
      'provost.step': 1,
      'provost.attempt': 1,
      'provost.cost_usd': 0.000012,
      'gen_ai.usage.cost': 0.000012,
      'llm.cost.total': 0.000012,
    })
    expect(attributesOf(spans, 'execute_tool')).toEqual({
      ...shared,
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'look',
      'gen_ai.tool.call.id': `${runId}/1/call/0`,
      'gen_ai.tool.type': 'function',
      'provost.tool.effect': 'read',
      'provost.step': 1,
    })
  })

  it('the sandbox that a tool declares', async () => {
    const input = z.looseObject({})
    const confined = tool({ name: 'look', effect: 'read', sandbox: 'process', input, execute: () => 'seen' })
    const { agent, take } = traced([lookStep, doneStep], { tools: [confined] })
    await agent.run('go')
    expect(attributesOf(take(), 'execute_tool')['provost.tool.sandbox']).toBe('process')
  })

  it('each attribute once in a drawing of the first, and every time in a drawing of all', async () => {
    const { agent, take } = traced()
    await agent.run('go')
    const spans = take()
    const times = (text: string, attributes: boolean | 'first') =>
      drawSpans(spans, { attributes }).split(text).length - 1
    const counted = ([true, 'first', false] as const).map((attributes) => [
      times('gen_ai.request.model', attributes),
      times('provost.run.status', attributes),
    ])
    expect(counted).toEqual([
      [2, 1],
      [1, 1],
      [0, 0],
    ])
  })

  it('estimated usage under Provost names, because the conventions mean usage that a provider reports', async () => {
    const { agent, take } = traced([{ text: 'done' }])
    const { usage } = await agent.run('go')
    const spans = take()
    const estimated = {
      'provost.usage.estimated': true,
      'provost.usage.input_tokens': usage.inputTokens,
      'provost.usage.output_tokens': usage.outputTokens,
    }
    expect(attributesOf(spans, 'invoke_agent')).toMatchObject(estimated)
    const chat = attributesOf(spans, 'chat')
    expect(chat).toMatchObject(estimated)
    expect(Object.keys(chat).filter((name) => name.startsWith('gen_ai.usage'))).toEqual([])
  })

  it('no content unless recordContent is set', async () => {
    const { agent, take } = traced([{ toolCalls: [{ name: 'look', input: { at: 'mars' } }] }, { text: 'red' }], {
      instructions: 'be brief',
    })
    await agent.run('what colour')
    expect(JSON.stringify(take())).not.toMatch(/mars|red"|brief|colour/)
  })

  it('each message once with recordContent', async () => {
    const { agent, take } = traced([lookStep, doneStep], { instructions: 'be brief' }, { recordContent: true })
    await agent.run('go')
    const spans = take()
    const parsed = spans.map(({ attributes }) => ({
      in: read(attributes['gen_ai.input.messages']),
      out: read(attributes['gen_ai.output.messages']),
    }))
    const go = [{ role: 'user', parts: [{ type: 'text', content: 'go' }] }]
    const done = [{ role: 'assistant', parts: [{ type: 'text', content: 'done' }] }]
    expect(parsed).toMatchObject([
      { in: go, out: done },
      { in: go, out: [{ role: 'assistant', parts: [{ type: 'tool_call', name: 'look' }] }] },
      { in: undefined, out: undefined },
      { in: [{ role: 'tool', parts: [{ type: 'tool_call_response', response: 'seen the moon' }] }], out: done },
    ])
    expect(spans[0]?.attributes['gen_ai.system_instructions']).toBe('[{"type":"text","content":"be brief"}]')
    expect(spans[2]?.attributes).toMatchObject({
      'gen_ai.tool.call.arguments': '{"at":"the moon"}',
      'gen_ai.tool.call.result': 'seen the moon',
    })
  })
})

function read(value: unknown): unknown {
  return typeof value === 'string' ? JSON.parse(value) : undefined
}
