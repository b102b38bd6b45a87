import { createAgent } from '@provost/agent'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'

test('an aborted child has half the grace of its parent, so that the parent records its result', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const entered = Promise.withResolvers<void>()
  const input = z.object({})
  /** Ignores the abort. */
  const stuck = tool({ name: 'stuck', input, execute: () => (entered.resolve(), new Promise<string>(() => {})) })
  const child = createAgent({
    name: 'child',
    model: scriptedModel([{ toolCalls: [{ name: 'stuck', input: {} }] }]),
    tools: [stuck],
  })
  const ends: string[] = []
  const go = tool({
    name: 'go',
    input,
    composite: true,
    async execute(_, ctx) {
      const { status } = await ctx.spawn(child, 'Work.', { key: 'one' })
      ends.push(status)
      return status
    },
  })
  const agent = createAgent({
    name: 'parent',
    model: scriptedModel([{ toolCalls: [{ name: 'go', input: {} }] }]),
    tools: [go],
  })
  const stream = agent.stream('go')
  await entered.promise
  void stream.abort({ graceMs: 1000 })
  await vi.advanceTimersByTimeAsync(490)
  expect(ends).toEqual([])
  await vi.advanceTimersByTimeAsync(50)
  expect(ends).toEqual(['aborted'])
  await vi.advanceTimersByTimeAsync(1000)
  expect((await stream.result).status).toBe('aborted')
})

test.each([[Number.POSITIVE_INFINITY], [2 ** 31]])('a grace of %d ms lets a tool end as it likes', async (graceMs) => {
  const entered = Promise.withResolvers<void>()
  const ends = tool({
    name: 'ends',
    input: z.object({}),
    async execute(_, { signal }) {
      const aborted = new Promise((resolve) => signal.addEventListener('abort', resolve))
      entered.resolve()
      await aborted
      await new Promise((resolve) => setTimeout(resolve, 150))
      return 'ended well'
    },
  })
  const model = scriptedModel([{ toolCalls: [{ name: 'ends', input: {} }] }])
  const stream = createAgent({ name: 'desk', model, tools: [ends] }).stream('go')
  await entered.promise
  await stream.abort({ graceMs })
  const { status, messages } = await stream.result
  expect(status).toBe('aborted')
  expect(JSON.stringify(messages)).toContain('ended well')
})
