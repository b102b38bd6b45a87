import { tool, rich } from '@provost/tools'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'

import { collect, only } from '../run/run-check.ts'
import { world } from '../session/session-world.ts'
import { settled } from './result-scenario.ts'

const buy = tool({
  name: 'buy',
  input: z.object({}),
  output: z.object({ bought: z.number() }),
  execute: () => rich({ inStock: 2 }, { error: { message: 'Only 2 are in stock.', code: 'sold-out' } }),
})

describe('a tool that states a failure with data', () => {
  it('gives the model error-json, listeners tool.execute.error, and the log both', async () => {
    const { agent, asked, store } = world([{ toolCalls: [{ name: 'buy', input: {} }] }, { text: 'done' }], {
      tools: [buy],
    })
    const { events, result } = await collect(agent.stream('go'))
    expect(result.status).toBe('completed')
    expect(only(events, 'tool.execute.end')).toEqual([])
    expect(only(events, 'tool.execute.error')).toMatchObject([
      { error: { code: 'sold-out', message: 'Only 2 are in stock.' } },
    ])
    const sent = { type: 'error-json', value: { inStock: 2 } }
    expect(asked[1]?.messages.at(-1)).toMatchObject({ role: 'tool', content: [{ output: sent }] })
    expect(await settled(store, result.sessionId)).toMatchObject([{ outcome: 'error', output: sent }])
  })
})
