import { createAgent } from '@provost/agent'
import type { Agent } from '@provost/agent'
import type { SessionStore, Usage } from '@provost/core'
import { addUsage, defineExtension } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import type { ScriptedPrompt, ScriptedStep } from '@provost/testing'
import { tool } from '@provost/tools'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'

/** The usage that all models of a test have reported. */
interface Reported {
  total: Usage
  calls: number
}

type Answer = (prompt: ScriptedPrompt, index: number) => ScriptedStep

const price = { input: 1, output: 10 }
const names = ['root', 'clerk', 'payer', 'fan', 'judge']
const prices = Object.fromEntries(names.map((name) => [`scripted/${name}`, price]))

/** A model that reports a different usage for each call. */
function metered(reported: Reported, modelId: string, answer: Answer): ReturnType<typeof scriptedModel> {
  const step: Answer = (prompt, index) => {
    const nth = ++reported.calls
    const usage = { inputTokens: 1000 + nth * 7, outputTokens: 10 + nth * 3 }
    reported.total = addUsage(reported.total, usage)
    return { ...answer(prompt, index), usage }
  }
  return scriptedModel([step], { provider: 'scripted', modelId, after: 'repeat-last' })
}

const hasResult = ({ messages }: ScriptedPrompt): boolean => messages.some(({ role }) => role === 'tool')
const isAside = ({ messages }: ScriptedPrompt): boolean => JSON.stringify(messages).includes('ASIDE')

/** A root with a child that has a child, a fan-out with a judge, hooks with model calls, and a compaction. */
function organisation(reported: Reported, store: SessionStore): Agent {
  const pay = tool({ name: 'pay', input: z.object({}), needsApproval: true, execute: () => 'paid' })
  const payer = createAgent({
    name: 'payer',
    model: metered(reported, 'payer', (prompt) =>
      hasResult(prompt) ? { text: 'paid' } : { toolCalls: [{ name: 'pay' }] },
    ),
    tools: [pay],
    prices,
  })
  const clerk = createAgent({
    name: 'clerk',
    model: metered(reported, 'clerk', (prompt) =>
      hasResult(prompt) ? { text: 'done' } : { toolCalls: [{ name: 'payer', input: { task: 'pay' } }] },
    ),
    tools: [payer.toTool({ name: 'payer', description: 'Pays.' })],
    prices,
  })
  const fan = createAgent({ name: 'fan', model: metered(reported, 'fan', () => ({ text: 'an idea' })), prices })
  const judge = createAgent({ name: 'judge', model: metered(reported, 'judge', () => ({ text: 'merged' })), prices })
  const ideas = tool({
    name: 'ideas',
    composite: true,
    input: z.object({}),
    async execute(_, ctx) {
      const children = ['a', 'b'].map((input) => ({ agent: fan, input }))
      const mergeStrategy = { kind: 'judge-merge', judge, criteria: 'brevity' } as const
      return (await ctx.fanOut({ children, mergeStrategy })).output
    },
  })
  let held = 0
  const aside = defineExtension({
    name: 'aside',
    hooks: {
      async input(_, ctx) {
        await ctx.generate({ prompt: 'ASIDE' })
        return undefined
      },
      // The first answer without calls is discarded.
      'model.response': ({ content }) =>
        content.some(({ type }) => type === 'tool-call') || held++ > 0 ? undefined : { repair: 'Again.' },
      async context({ messages: [first], trigger }, ctx) {
        if (trigger !== 'manual' || !first) return undefined
        await ctx.generate({ prompt: 'ASIDE, a summary' })
        return { from: first.id, to: first.id, with: [{ content: 'so far' }] }
      },
    },
  })
  const toolCalls = [{ name: 'clerk', input: { task: 'go' } }, { name: 'ideas' }]
  return createAgent({
    name: 'root',
    model: metered(reported, 'root', (prompt) =>
      isAside(prompt) || hasResult(prompt) ? { text: 'ok' } : { toolCalls },
    ),
    tools: [clerk.toTool({ name: 'clerk', description: 'Pays.' }), ideas],
    extensions: [aside],
    store,
    prices,
  })
}

describe('session.usage and session.cost', () => {
  it('are empty before the first model call', async () => {
    const session = await organisation({ total: {}, calls: 0 }, memoryStore()).createSession({})
    expect([session.usage, session.cost]).toEqual([{ byModel: {} }, undefined])
  })

  it('add up to what the models reported, with children, judges, hooks, compactions and discarded answers', async () => {
    const reported: Reported = { total: {}, calls: 0 }
    const store = memoryStore()
    const session = await organisation(reported, store).createSession({ id: 's' })
    session.send('go')
    const suspended = await session.waitForIdle()
    expect(suspended?.status).toBe('suspended')
    expect(session.usage).toMatchObject(reported.total)
    const [approval] = session.pending.approvals

    // Another process resumes it.
    const again = await organisation(reported, store).resumeSession('s')
    expect(again.usage).toEqual(session.usage)
    await again.resolve({ approvals: [{ id: approval?.id ?? '', decision: 'approve' }] })
    expect((await again.waitForIdle())?.status).toBe('completed')
    expect(again.usage).toMatchObject(reported.total)
    expect(Object.keys(again.usage.byModel).toSorted()).toEqual(names.map((name) => `scripted/${name}`).toSorted())

    await again.compact()
    expect(again.usage).toMatchObject(reported.total)
    again.send('thanks')
    const next = await again.waitForIdle()
    expect(next?.usage.inputTokens).toBeLessThan(again.usage.inputTokens ?? 0)
    const { inputTokens = 0, outputTokens = 0 } = reported.total
    expect(again.usage).toMatchObject(reported.total)
    expect(again.cost).toBeCloseTo((inputTokens * price.input + outputTokens * price.output) / 1e6, 12)
    expect(reported.calls).toBeGreaterThan(12)

    const reopened = await organisation(reported, store).resumeSession('s')
    expect([reopened.usage, reopened.cost]).toEqual([again.usage, again.cost])
  })
  it('has a cost after a model call that failed without using a token', async () => {
    const usage = { inputTokens: 100, outputTokens: 10 }
    const refused = Object.assign(new Error('The request is invalid.'), { statusCode: 400 })
    const model = scriptedModel([{ text: 'a', usage }, { error: refused }, { text: 'b', usage }], { modelId: 'root' })
    const session = await createAgent({ name: 'root', model, prices }).createSession()
    const costs: unknown[] = []
    for (const text of ['first', 'second', 'third']) {
      await session.stream(text).result
      costs.push(session.cost)
    }
    expect(costs).toEqual([0.0002, 0.0002, 0.0004])
  })
})
