import type { HookContext, Hooks, ModelRequest, ToolContext } from '@provost/core'
import { tool } from '@provost/tools'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'

import { world } from '../session/session-world.ts'
import { echo, extension, lines, say } from './hook-scenario.ts'

/** Writes to a list or an object as untyped code would. */
function pushTo(list: unknown): void {
  if (Array.isArray(list)) list.push({ role: 'user', content: 'forged' })
}

const writes: [name: string, write: (ctx: HookContext, request: ModelRequest) => unknown][] = [
  ['ctx.view.messages', (ctx) => pushTo(ctx.view.messages)],
  ['ctx.view', (ctx) => Object.assign(ctx.view, { model: 'other/model' })],
  ['ctx.intent', (ctx) => pushTo(ctx.intent)],
  ['ctx.tools', (ctx) => pushTo(ctx.tools)],
  ['request.messages', (_, request) => pushTo(request.messages)],
  ['request.tail', (_, request) => pushTo(request.tail)],
  ['request.tools', (_, request) => pushTo(request.tools)],
  ['request.params', (_, request) => Object.assign(request.params, { temperature: 2 })],
  ['request', (_, request) => Object.assign(request, { tail: [{ content: 'forged' }] })],
]

describe('a hook that writes to what it receives', () => {
  it.each(writes)('gets an error for %s, and nothing changes', async (_, write) => {
    const thrown: unknown[] = []
    const attempt: Hooks['model.request'] = (request, ctx) => {
      try {
        write(ctx, request)
      } catch (error) {
        thrown.push(error)
      }
      return { tail: [{ content: 'kept' }], params: { temperature: 1 }, tools: ['echo'] }
    }
    const { agent, asked } = world([{ text: 'done' }], {
      tools: [echo],
      // The second hook receives the request as the first one changed it.
      extensions: [extension('first', { 'model.request': attempt }), extension('second', { 'model.request': attempt })],
    })
    await agent.run('go')
    expect(thrown).toEqual([expect.any(TypeError), expect.any(TypeError)])
    expect(asked.map(lines)).toEqual([['user: go', 'user: kept', 'user: kept']])
  })

  it('fails the run where it does not catch the error', async () => {
    const { agent } = world([{ text: 'done' }], {
      extensions: [extension('vandal', { context: ({ messages }) => pushTo(messages) })],
    })
    expect(await agent.run('go')).toMatchObject({ status: 'failed', error: { code: 'hook-failed' } })
  })
})

it('a tool that writes to ctx.messages fails', async () => {
  const vandal = tool({
    name: 'echo',
    input: z.object({ value: z.string() }),
    execute: (_, ctx: ToolContext) => pushTo(ctx.messages),
  })
  const { agent, asked } = world([{ toolCalls: [say('x')] }, { text: 'done' }], { tools: [vandal] })
  expect(await agent.run('go')).toMatchObject({ status: 'completed' })
  expect(lines(asked[1] ?? { messages: [] }).join()).toContain('not extensible')
})

it('an orchestrator that writes to run.view fails', async () => {
  const { agent } = world([{ text: 'done' }], {
    orchestrator: async (run) => {
      pushTo(run.view.messages)
      await run.model()
    },
  })
  expect(await agent.run('go')).toMatchObject({ status: 'failed' })
})
