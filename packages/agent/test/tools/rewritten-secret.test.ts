import { createAgent } from '@provost/agent'
import type { Json } from '@provost/core'
import { scriptedModel } from '@provost/testing'
import { secretRef, tool } from '@provost/tools'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { z } from 'zod'

import { extension } from '../hooks/hook-scenario.ts'

const value = 'account-4711'
beforeEach(() => vi.stubEnv('PROVOST_TEST_ACCOUNT', value))
afterEach(() => vi.unstubAllEnvs())

/** Runs one payment. The first hook and the approver may replace its arguments; the second hook records what it sees. */
async function pay(by: 'hook' | 'approver') {
  const seen: Json[] = []
  const received: unknown[] = []
  const args = { to: value }
  const agent = createAgent({
    name: 'payer',
    secrets: { ACCOUNT: secretRef('env:PROVOST_TEST_ACCOUNT') },
    model: scriptedModel([{ toolCalls: [{ name: 'pay', input: { to: 'x' } }] }, { text: 'Done.' }]),
    tools: [
      tool({
        name: 'pay',
        secrets: ['ACCOUNT'],
        input: z.object({ to: z.string() }),
        needsApproval: by === 'approver',
        execute: (input) => (received.push(input), 'paid'),
      }),
    ],
    extensions: [
      extension('rewrite', { 'tool.call': () => (by === 'hook' ? { args } : undefined) }),
      extension('record', { 'tool.call': ({ input }) => void seen.push(input) }),
    ],
  })
  const { status } = await agent.run('pay', { onApproval: () => ({ decision: 'approve', args }) })
  return { status, seen, received }
}

describe('arguments with a secret', () => {
  test.each(['hook', 'approver'] as const)(
    'that come from a %s reach the hooks as tokens, and the tool as values',
    async (by) => {
      const { status, seen, received } = await pay(by)
      expect(status).toBe('completed')
      expect(received).toEqual([{ to: value }])
      expect(JSON.stringify(seen)).not.toContain(value)
      expect(seen.at(-1)).toEqual({ to: '⟦secret:ACCOUNT⟧' })
    },
  )
})
