import { createAgent } from '@provost/agent'
import type { Fold } from '@provost/core'
import { scriptedModel } from '@provost/testing'
import { expect, it } from 'vitest'

import { extension } from '../hooks/hook-scenario.ts'

it('a fold of a hook continues in the next run of a session: no entry is read twice', async () => {
  let applied = 0
  const count: Fold<number> = {
    key: 'count',
    initial: 0,
    apply(entries) {
      applied++
      return entries + 1
    },
  }
  const seen: number[] = []
  const look = extension('look', { context: (_, ctx) => void seen.push(ctx.fold(count)) })
  const agent = createAgent({
    name: 'a',
    model: scriptedModel([{ text: 'ok' }], { after: 'repeat-last' }),
    extensions: [look],
  })
  const session = await agent.createSession({})
  for (let run = 0; run < 4; run++) {
    session.send('go')
    await session.waitForIdle()
  }
  expect(seen).toHaveLength(4)
  expect(seen).toEqual(seen.toSorted((a, b) => a - b))
  expect(applied).toBe(seen.at(-1))
})
