import { createHash } from 'node:crypto'

import { memoryStore } from '@provost/sessions'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'

test('deleting a session removes the blobs that its log mentions, and no others', async () => {
  const around = fc.string({ unit: fc.constantFrom('g', ' ', '0', 'f', '"', 'é'), maxLength: 200 })
  await fc.assert(
    fc.asyncProperty(around, around, fc.boolean(), async (before, after, mentions) => {
      const store = memoryStore()
      const bytes = new TextEncoder().encode(before)
      const hash = createHash('sha256').update(bytes).digest('hex')
      await store.putBlob(bytes)
      const lease = await store.lease('s', 'w', 1_000)
      if (lease === 'busy') throw new Error('busy')
      const value = mentions ? `${before} ${hash} ${after}` : `${before} ${hash.slice(1)} ${after}`
      const entry = { id: 'a', at: 1, runId: 'r', step: 0, agent: 'a', v: 1, type: 'memo', key: 'k', value } as const
      await store.append('s', [entry], { after: 0, fence: lease.fence })
      await store.delete('s')
      expect((await store.blob(hash)) === undefined).toBe(mentions)
    }),
    { numRuns: 200 },
  )
})
