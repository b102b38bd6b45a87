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
