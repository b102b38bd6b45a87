import { createAgent } from '@provost/agent'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { expect, test } from 'vitest'
import { z } from 'zod'

import { readLog } from '../run/run-check.ts'

const input = z.object({})
const execute = (): string => 'done'

test('the start of a call says whether a store may lose it: who reads, or is idempotent, runs again unasked', async () => {
  const store = memoryStore()
  const tools = [
    tool({ name: 'look', effect: 'read', input, execute }),
    tool({ name: 'think', effect: 'none', input, execute }),
    tool({ name: 'set', idempotent: true, input, execute }),
    tool({ name: 'pay', input, execute }),
    tool({ name: 'mail', effect: 'egress', input, execute }),
  ]
  const calls = tools.map(({ name }) => ({ name, input: {} }))
  // One that can start at once, and the rest where each waits for its turn.
  for (const maxParallelTools of [8, 1]) {
    const model = scriptedModel([{ toolCalls: calls }, { text: 'Done.' }])
    const { sessionId } = await createAgent({ name: 'a', model, tools, store, maxParallelTools }).run('go')
    const starts = (await readLog(store, sessionId)).filter((entry) => entry.type === 'call' && entry.op === 'started')
    expect(starts.map((entry) => 'repeatable' in entry && entry.repeatable)).toEqual([true, true, true, false, false])
  }
})
