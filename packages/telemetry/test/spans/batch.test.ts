import { tool } from '@provost/tools'
import { expect, it } from 'vitest'
import { z } from 'zod'

import { doneStep, traced } from '../traced.ts'

it('marks the end of a batch with the number of rows and of those that succeeded', async () => {
  const pay = tool({ name: 'pay', stage: true, input: z.object({ n: z.number() }), execute: ({ n }) => `paid ${n}` })
  const toolCalls = [1, 2, 3].map((n) => ({ name: 'pay', input: { n } }))
  const { agent, tree } = traced([{ toolCalls }, doneStep], { tools: [pay] })
  await agent.run('pay', {
    onBatch: (rows) => ({ decision: 'approve', except: rows.slice(2).map(({ id }) => id) }),
  })
  expect(tree().filter((line) => line.includes('batch'))).toEqual([
    expect.stringContaining('batch.settled  rows 3 · ok 2'),
  ])
})
