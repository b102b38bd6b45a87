import { setImmediate as turn } from 'node:timers/promises'

import { createAgent } from '@provost/agent'
import type { Agent, AgentStream } from '@provost/agent'
import type { NewEntry, SessionStore } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

import { readLog, stateFrom } from '../crash/crash-site.ts'

async function turns(): Promise<void> {
  for (let n = 0; n < 20; n++) await turn()
}

const isParked = (entry: NewEntry): boolean => entry.type === 'call' && entry.op === 'parked'

/** A step in which a composite waits for an answer, which arrives while the other call of the step is recorded as ended. */
function paint(dies: boolean) {
  const [asked, ending, answered, died] = [
    Promise.withResolvers<void>(),
    Promise.withResolvers<void>(),
    Promise.withResolvers<void>(),
    Promise.withResolvers<void>(),
  ]
  const kept = memoryStore()
  const store: SessionStore = {
    ...kept,
    async append(log, entries, at) {
      if (entries.some((entry) => entry.type === 'call' && entry.op === 'settled' && entry.callId.endsWith('/1'))) {
        ending.resolve()
        await answered.promise
      }
      if (entries.some((entry) => entry.type === 'resolved')) await turns()
      const appended = await kept.append(log, entries, at)
      if (!dies || !entries.some(isParked)) return appended
      died.resolve()
      return new Promise<never>(() => {})
    },
  }
  const agentOver = (over: SessionStore): Agent => {
    const choose = tool({
      name: 'choose',
      input: z.object({}),
      composite: true,
      execute: (_, ctx) => ctx.wait('colour', { message: 'Which colour?' }),
    })
    const slow = tool({
      name: 'slow',
      input: z.object({}),
      async execute() {
        await asked.promise
        await turns()
        return 'slept'
      },
    })
    const toolCalls = [
      { name: 'choose', input: {} },
      { name: 'slow', input: {} },
    ]
    const model = scriptedModel(
      [({ messages }) => (messages.at(-1)?.role === 'tool' ? { text: 'done' } : { toolCalls })],
      {
        after: 'repeat-last',
      },
    )
    return createAgent({ name: 'painter', model, tools: [choose, slow], store: over })
  }
  async function answer(stream: AgentStream): Promise<void> {
    for await (const event of stream) {
      if (event.type !== 'input.requested') continue
      asked.resolve()
      void ending.promise.then(async () => {
        await stream.resolve({ inputs: [{ id: event.token, value: 'red' }] })
        await turns()
        answered.resolve()
      })
    }
  }
  const stream = agentOver(store).stream('paint', { sessionId: 's' })
  void answer(stream)
  return { stream, died: died.promise, kept, agentOver }
}

describe('an answer that arrives while the last other call of the step ends', () => {
  test('reaches its composite', async () => {
    const { status, messages } = await paint(false).stream.result
    expect(status).toBe('completed')
    expect(JSON.stringify(messages)).toContain('red')
  })

  test('reaches its composite after the process has died', async () => {
    const { died, kept, agentOver } = paint(true)
    await died
    const entries = await readLog(kept, 's')
    expect(entries.map(({ type }) => type).slice(-2)).toEqual(['resolved', 'call'])
    await kept.release('s', 1)
    const agent = agentOver(kept)
    const state = stateFrom(entries, 's', agent)
    if (!state) throw new Error('the run has not begun')
    const { status, messages } = await agent.run(state)
    expect(status).toBe('completed')
    expect(JSON.stringify(messages)).toContain('red')
  })
})
