import { createAgent } from '@provost/agent'
import type { AgentOptions } from '@provost/agent'
import type { Extension, HookContext, Hooks, PlannedCall } from '@provost/core'
import { defineExtension } from '@provost/core'
import { scriptedModel } from '@provost/testing'
import type { ScriptedEntry } from '@provost/testing'
import { tool } from '@provost/tools'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'

const usage = { inputTokens: 20, outputTokens: 10 }
const look = tool({ name: 'look', effect: 'read', input: z.object({}), execute: () => 'seen' })
const looking = { toolCalls: [{ name: 'look', input: {} }], usage }

const hooked = (name: string, hooks: Hooks): Extension => defineExtension({ name, hooks })
const agentOf = (steps: readonly ScriptedEntry[], extensions: readonly Extension[], more: Partial<AgentOptions> = {}) =>
  createAgent({ name: 'a', model: scriptedModel(steps), tools: [look], extensions, ...more, output: undefined })

describe('model.call', () => {
  it('sees each attempt and each call of other hooks, with the model that is asked', async () => {
    const seen: Partial<PlannedCall>[] = []
    const other = scriptedModel([{ text: 'done', usage }], { modelId: 'other' })
    const spy = hooked('spy', {
      'model.call': ({ model, attempt, purpose, price }) =>
        void seen.push({ model, attempt, ...(purpose && { purpose }), ...(price && { price }) }),
    })
    const asking = hooked('asking', {
      async input(_, ctx) {
        await ctx.generate({ prompt: 'what?', model: scriptedModel([{ text: 'that', usage }], { modelId: 'small' }) })
      },
      'model.error': () => ({ useModel: other }),
    })
    const prices = { 'scripted/other': { input: 2, output: 8 } }
    const agent = agentOf([{ error: new Error('no') }], [spy, asking], { prices })
    expect((await agent.run('go')).status).toBe('completed')
    expect(seen).toEqual([
      { model: 'scripted/small', attempt: 1, purpose: 'generated' },
      { model: 'scripted/scripted-model', attempt: 1 },
      { model: 'scripted/other', attempt: 2, price: { input: 2, output: 8 } },
    ])
  })

  it('lowers the answer to the least of all limits', async () => {
    const limits: unknown[] = []
    const most = (name: string, maxOutputTokens: number) => hooked(name, { 'model.call': () => ({ maxOutputTokens }) })
    const agent = agentOf(
      [({ options }) => (limits.push(options.maxOutputTokens), { text: 'done', usage })],
      [most('a1', 70), most('b1', 40), most('c1', 90)],
      { settings: { maxOutputTokens: 50 } },
    )
    await agent.run('go')
    expect(limits).toEqual([40])
  })

  it('sets aside what it says until the log counts the call', async () => {
    const reserved: number[] = []
    const look2 = (ctx: HookContext): void => void reserved.push(ctx.reserved().tokens)
    const agent = agentOf(
      [looking, { text: 'done', usage }],
      [
        hooked('one', { 'model.call': () => ({ reserve: { tokens: 30 } }) }),
        hooked('two', {
          'model.call': () => ({ reserve: { tokens: 50 } }),
          'model.response': (_, ctx) => look2(ctx),
          'tool.call': (_, ctx) => look2(ctx),
        }),
      ],
    )
    await agent.run('go')
    expect(reserved).toEqual([50, 0, 50])
  })

  it.each<[string, NonNullable<Hooks['model.call']>, string]>([
    ['stops', (_, ctx) => ctx.stop('too-much', 'Too much.'), 'too-much'],
    [
      'throws',
      () => {
        throw new Error('broken')
      },
      'hook-failed',
    ],
    ['generates', async (_, ctx) => void (await ctx.generate({ prompt: 'x' })), 'hook-failed'],
    ['waits for nothing', () => ({ wait: true }), 'hook-failed'],
  ])('makes no call where it %s', async (_, hook, code) => {
    let asked = 0
    const agent = agentOf([() => (asked++, { text: 'done', usage })], [hooked('h', { 'model.call': hook })])
    const { status, error } = await agent.run('go')
    expect([status, error?.code, asked]).toEqual(['failed', code, 0])
  })

  it('refuses what another hook generates, and the run ends with its code', async () => {
    const agent = agentOf(
      [looking],
      [
        hooked('gate', { 'model.call': ({ purpose }, ctx) => (purpose ? ctx.stop('no-asides', 'No.') : undefined) }),
        hooked('asking', {
          async 'tool.result'(_, ctx) {
            await ctx.generate({ prompt: 'what?' })
          },
          async input(_, ctx) {
            await ctx.generate({ prompt: 'what?' })
          },
        }),
      ],
    )
    expect((await agent.run('go')).error?.code).toBe('no-asides')
  })

  it('reserves in tool.call for the call that is judged alone', async () => {
    const codes: unknown[] = []
    const agent = agentOf(
      [looking, { text: 'done', usage }],
      [
        hooked('h', {
          'tool.call'(call, ctx) {
            ctx.reserve(call.callId, { toolCalls: 1 })
            codes.push(ctx.reserved(call.callId).toolCalls)
            try {
              ctx.reserve('another', { toolCalls: 1 })
            } catch (thrown) {
              codes.push((thrown as { code?: string }).code)
            }
          },
          'tool.result': (_, ctx) => void codes.push(ctx.reserved().toolCalls),
        }),
      ],
    )
    await agent.run('go')
    expect(codes).toEqual([1, 'unknown-call', 0])
  })
})
