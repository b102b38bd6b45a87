import { createAgent } from '@provost/agent'
import type { AgentOptions } from '@provost/agent'
import type { ClearedModel, Extension, ModelRequest } from '@provost/core'
import { modelFallback } from '@provost/provider'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import type { ScriptedPrompt, ScriptedStep } from '@provost/testing'
import { tool } from '@provost/tools'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'

import { askedModel, entriesOfType, extension, failure, only, watch } from '../hooks/hook-scenario.ts'

const salary = 'the salary is 81,000'
const vault = tool({
  name: 'vault',
  effect: 'read',
  input: z.object({}),
  returns: { confidentiality: 'secret' },
  execute: () => salary,
})
const open: ScriptedStep = { toolCalls: [{ name: 'vault' }] }

/** A model that may not read secrets, and whatever it was sent. */
function cloud(steps: readonly ScriptedStep[], modelId = 'cloud'): { spec: ClearedModel; sent: ScriptedPrompt[] } {
  const sent: ScriptedPrompt[] = []
  return { spec: { model: askedModel(sent, steps, { modelId }), accepts: ['public', 'internal'] }, sent }
}
function local(...steps: readonly ScriptedStep[]) {
  return scriptedModel(steps, { modelId: 'local' })
}
function agentOf(
  model: AgentOptions['model'],
  extensions: readonly Extension[] = [],
  more: Partial<AgentOptions> = {},
) {
  return createAgent({ name: 'a', model, tools: [vault], ...more, extensions })
}
const secretTail = extension('tail', {
  'model.request': () => ({ tail: [{ content: salary, label: { confidentiality: 'secret' } }] }),
})

describe('a model that is not cleared for a view', () => {
  it('is not sent it, and the run fails saying why', async () => {
    const { spec, sent } = cloud([open, { text: 'never' }])
    const result = await agentOf(spec).run('What does Ann earn?')
    expect(failure(result)).toMatchObject({
      code: 'clearance-denied',
      message: 'scripted/cloud accepts public, internal, and this call is secret: nothing was sent.',
      hint: expect.stringContaining('cleared'),
    })
    expect(sent).toHaveLength(1)
    expect(JSON.stringify(sent)).not.toContain(salary)
  })

  it('answers everything else', async () => {
    const { spec } = cloud([{ text: 'fine' }])
    expect((await agentOf(spec).run('hello')).text).toBe('fine')
  })

  it('nor a secret in the tail', async () => {
    const { spec, sent } = cloud([{ text: 'never' }])
    expect(failure(await agentOf(spec, [secretTail]).run('hello')).code).toBe('clearance-denied')
    expect(sent).toEqual([])
  })

  it('nor what the human marked, in a part of a message', async () => {
    const { spec, sent } = cloud([{ text: 'never' }])
    const result = await agentOf(spec).run([
      { type: 'text', text: 'Sum up:' },
      { type: 'text', text: salary, label: { integrity: 'trusted', confidentiality: 'secret', sources: [] } },
    ])
    expect(failure(result).code).toBe('clearance-denied')
    expect(sent).toEqual([])
  })

  it('nor what the session heard in an earlier run', async () => {
    const store = memoryStore()
    const first = await agentOf(local(open, { text: '81,000' }), [], { store }).run('What does Ann earn?')
    const { spec, sent } = cloud([{ text: 'never' }])
    const result = await agentOf(spec, [], { store }).run('And Ben?', { sessionId: first.sessionId })
    expect(failure(result).code).toBe('clearance-denied')
    expect(sent).toEqual([])
  })

  it('nor our own instructions, where it reads only what is public', async () => {
    const sent: ScriptedPrompt[] = []
    const model: ClearedModel = { model: askedModel(sent, [{ text: 'hi' }, { text: 'hi' }]), accepts: ['public'] }
    const bare = createAgent({ name: 'a', model })
    const said = [
      {
        id: 'm',
        role: 'user',
        createdAt: 0,
        content: [{ type: 'text', text: 'hi' }],
        label: { integrity: 'trusted', confidentiality: 'public', sources: [] },
      },
    ] as const
    expect((await bare.run(said)).status).toBe('completed')
    const told = createAgent({ name: 'a', model, instructions: 'Be kind.' })
    expect(failure(await told.run(said)).code).toBe('clearance-denied')
    expect(sent).toHaveLength(1)
  })

  it.each(['agent', 'run', 'tier', 'hook', 'fallback'] as const)('is rejected when chosen by %s', async (who) => {
    const { spec, sent } = cloud([open, { text: 'never' }])
    const chooser =
      who === 'hook'
        ? [extension('choose', { 'model.request': () => ({ model: spec }) })]
        : who === 'fallback'
          ? [extension('fall', { 'model.error': () => ({ useModel: spec }) })]
          : []
    const down = local({ error: new TypeError('fetch failed') })
    const model = who === 'agent' ? spec : who === 'tier' ? { balanced: spec } : down
    const agent = agentOf(model, [...chooser, secretTail])
    const result = await agent.run('hello', who === 'run' ? { model: spec } : {})
    expect(failure(result).code).toBe('clearance-denied')
    expect(sent).toEqual([])
  })

  it('nor in a call that a hook makes, though the prompt of the hook says nothing of it', async () => {
    const { spec, sent } = cloud([{ text: 'a summary' }, { text: 'never' }])
    const errors: unknown[] = []
    const judge = extension('judge', {
      'model.response': async (_, ctx) => {
        try {
          await ctx.generate({ prompt: `Sum up: ${ctx.view.messages.length} messages`, model: spec })
        } catch (error) {
          errors.push(error)
        }
      },
    })
    await agentOf(local(open, { text: 'done' }), [judge]).run('What does Ann earn?')
    expect(sent).toHaveLength(1)
    expect(errors).toMatchObject([{ code: 'clearance-denied' }])
  })

  it('nor in a part of a message that a hook gives', async () => {
    const { spec, sent } = cloud([{ text: 'never' }])
    const errors: unknown[] = []
    const judge = extension('judge', {
      'model.response': async (_, ctx) => {
        const label = { integrity: 'trusted', confidentiality: 'secret', sources: [] } as const
        const content = [{ type: 'text', text: salary, label }] as const
        await ctx
          .generate({ prompt: [{ content, label: { confidentiality: 'public' } }], model: spec })
          .catch((error: unknown) => errors.push(error))
      },
    })
    await agentOf(local({ text: 'done' }), [judge]).run('hello')
    expect(errors).toMatchObject([{ code: 'clearance-denied' }])
    expect(sent).toEqual([])
  })

  it('nor in a round that mends the output', async () => {
    const { spec, sent } = cloud([{ text: 'never' }])
    let asked = 0
    const choose = extension('choose', { 'model.request': () => (asked++ < 2 ? undefined : { model: spec }) })
    const agent = agentOf(local(open, { text: 'no JSON' }), [choose], { output: z.object({ salary: z.number() }) })
    expect(failure(await agent.run('What does Ann earn?')).code).toBe('clearance-denied')
    expect(sent).toEqual([])
  })

  it('is told of the label of each request, the tail included', async () => {
    const seen: ModelRequest['label'][] = []
    const look = extension('look', { 'model.request': ({ label }) => void seen.push(label) })
    await agentOf(local({ text: 'done' }), [look, secretTail, extension('more', look.hooks)]).run('hello')
    expect(seen.map(({ confidentiality }) => confidentiality)).toEqual(['internal', 'secret'])
  })
})

describe('fallback and clearance', () => {
  it('passes over models that may not read what is sent, at the beginning of a step and after a failure', async () => {
    const { spec, sent } = cloud([open, { text: 'never' }])
    const { events, result } = await watch(
      agentOf(spec, [modelFallback([cloud([], 'other').spec, local({ text: 'local answer' })])]).stream(
        'What does Ann earn?',
      ),
    )
    expect(result).toMatchObject({ status: 'completed', text: 'local answer' })
    expect(only(events, 'step.start').map(({ model }) => model)).toEqual(['scripted/cloud', 'scripted/local'])
    expect(Object.keys(result.usage.byModel)).toEqual(['scripted/cloud', 'scripted/local'])
    expect(sent).toHaveLength(1)

    const never = cloud([{ text: 'never' }])
    const busy = { error: Object.assign(new Error('overloaded'), { status: 529 }) }
    const after = agentOf(local(open, busy), [modelFallback([never.spec, local({ text: 'second local' })])])
    expect((await after.run('What does Ann earn?')).text).toBe('second local')
    expect(never.sent).toEqual([])
  })

  it('says of each which reason it had when none is left', async () => {
    const busy = { error: Object.assign(new Error('overloaded'), { status: 529 }) }
    const { spec, sent } = cloud([{ text: 'never' }])
    const agent = agentOf(local(open, busy), [modelFallback([spec])], { settings: { maxRetries: 0 } })
    expect(failure(await agent.run('What does Ann earn?'))).toMatchObject({
      code: 'models-failed',
      message:
        'No model answered: scripted/local (capacity: overloaded); scripted/cloud (not cleared: it accepts public, internal, and this call is secret).',
    })
    const none = agentOf(spec, [modelFallback([cloud([], 'other').spec]), secretTail].toReversed())
    expect(failure(await none.run('hello'))).toMatchObject({
      code: 'models-failed',
      message: expect.stringMatching(/cloud \(not cleared.*other \(not cleared/),
    })
    expect(sent).toEqual([])
  })

  it('moves on where a hook behind it made the request secret', async () => {
    const store = memoryStore()
    const { spec, sent } = cloud([{ text: 'never' }])
    const result = await agentOf(spec, [modelFallback([local({ text: 'local' })]), secretTail], { store }).run('hello')
    expect(result.text).toBe('local')
    expect(sent).toEqual([])
    expect(await entriesOfType(store, result, 'attempt')).toMatchObject([
      { model: 'scripted/cloud', outcome: 'discarded', usage: {} },
      { model: 'scripted/local', outcome: 'answered' },
    ])
  })
})
