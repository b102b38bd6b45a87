import { convertGenAISpanAttributesToOpenInferenceSpanAttributes as convert } from '@arizeai/openinference-genai'
import { createAgent, handoff } from '@provost/agent'
import { scriptedModel } from '@provost/testing'
import { describe, expect, it } from 'vitest'

import { collectSpans, telemetry } from '../../src/index.ts'
import type { CollectedSpan } from '../../src/index.ts'
import { doneStep, lookStep, traced } from '../traced.ts'

const priced = { prices: { 'scripted/scripted-model': { input: 1, output: 1 } } }

async function spansOfRun(): Promise<ReadonlyMap<string, CollectedSpan>> {
  const { agent, take } = traced([lookStep, doneStep], priced, { recordContent: true })
  await agent.run('go', { principal: { id: 'ann' } })
  return new Map(take().map((span) => [span.name, span]))
}

/**
 * What Langfuse shows of a span, by the names that its ingestion reads (OtelIngestionProcessor, autumn 2026): messages
 * take precedence over the arguments and the result of a tool, and the response model over the requested one.
 */
function inLangfuse(span: CollectedSpan | undefined) {
  const given: Readonly<Record<string, unknown>> = { ...span?.attributes }
  const usage = Object.entries(given).filter(([key]) => key.startsWith('gen_ai.usage.') && key !== 'gen_ai.usage.cost')
  return {
    input: given['gen_ai.input.messages'] ?? given['gen_ai.tool.call.arguments'],
    output: given['gen_ai.output.messages'] ?? given['gen_ai.tool.call.result'],
    name: given['gen_ai.tool.name'] ?? span?.name,
    session: given['session.id'],
    user: given['user.id'],
    model: given['gen_ai.response.model'] ?? given['gen_ai.request.model'],
    usage: Object.fromEntries(usage.map(([key, value]) => [key.slice('gen_ai.usage.'.length), value])),
    cost: given['gen_ai.usage.cost'],
  }
}

describe('Langfuse finds', () => {
  it('model, usage, cost, input and output of a model call', async () => {
    const spans = await spansOfRun()
    expect(inLangfuse(spans.get('chat scripted-model'))).toMatchObject({
      input: expect.stringContaining('seen the moon'),
      output: expect.stringContaining('done'),
      model: 'scripted-model',
      usage: { input_tokens: 15, output_tokens: 1 },
      cost: 0.000016,
    })
  })

  it('name, arguments and result of a tool call', async () => {
    const spans = await spansOfRun()
    expect(inLangfuse(spans.get('execute_tool look'))).toMatchObject({
      name: 'look',
      input: '{"at":"the moon"}',
      output: 'seen the moon',
    })
  })

  it('session, user, input and output of the trace on its root, without usage that would be counted twice', async () => {
    const spans = await spansOfRun()
    expect(inLangfuse(spans.get('invoke_agent desk'))).toMatchObject({
      input: expect.stringContaining('go'),
      output: expect.stringContaining('done'),
      session: expect.any(String),
      user: 'ann',
      usage: {},
      cost: undefined,
    })
  })

  it('the answer of the last agent on the root, after a handoff', async () => {
    const { tracer, take } = collectSpans()
    const extensions = [telemetry({ tracer, recordContent: true })]
    const billing = createAgent({ name: 'billing', model: scriptedModel([{ text: 'Paid back.' }]) })
    const desk = createAgent({
      name: 'desk',
      model: scriptedModel([{ toolCalls: [{ name: 'transfer_to_billing', input: { message: 'Pay it back.' } }] }]),
      handoffs: [handoff(billing)],
      extensions,
    })
    await desk.run('My money!')
    const spans = take()
    const outputs = ['invoke_agent desk', 'invoke_agent billing'].map(
      (name) => inLangfuse(spans.find((span) => span.name === name)).output,
    )
    expect(outputs).toEqual([expect.stringContaining('Paid back.'), expect.stringContaining('Paid back.')])
  })
})

describe('Phoenix finds, by the converter of OpenInference,', () => {
  it('messages, usage and cost of a model call', async () => {
    const spans = await spansOfRun()
    const { attributes } = spans.get('chat scripted-model') ?? {}
    expect({ ...attributes, ...convert({ ...attributes }) }).toMatchObject({
      'openinference.span.kind': 'LLM',
      'llm.model_name': 'scripted-model',
      'llm.token_count.prompt': 15,
      'llm.token_count.completion': 1,
      'llm.cost.total': 0.000016,
      'llm.output_messages.0.message.role': 'assistant',
      'session.id': expect.any(String),
    })
  })

  it('arguments and result of a tool call', async () => {
    const spans = await spansOfRun()
    expect(convert({ ...spans.get('execute_tool look')?.attributes })).toMatchObject({
      'openinference.span.kind': 'TOOL',
      'tool.name': 'look',
      'input.value': '{"at":"the moon"}',
      'output.value': 'seen the moon',
    })
  })
})
