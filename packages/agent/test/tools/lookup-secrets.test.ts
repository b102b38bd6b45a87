import { createAgent } from '@provost/agent'
import type { SessionStore } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { secretRef, tool } from '@provost/tools'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'

import { readLog } from '../run/run-check.ts'

const value = 'account-4711'
beforeEach(() => vi.stubEnv('PROVOST_TEST_ACCOUNT', value))
afterEach(() => vi.unstubAllEnvs())

/** Tool inputs, by where the tool received them. */
interface Received {
  readonly execute: unknown[]
  readonly lookup: unknown[]
}

function payer(store: SessionStore, received: Received, died?: () => void) {
  return createAgent({
    name: 'payer',
    store,
    secrets: { ACCOUNT: secretRef('env:PROVOST_TEST_ACCOUNT') },
    model: scriptedModel(
      [
        ({ messages }) =>
          messages.at(-1)?.role === 'tool'
            ? { text: 'Done.' }
            : { toolCalls: [{ name: 'pay', input: { from: `IBAN ${value}`, sum: 7 } }] },
      ],
      { after: 'repeat-last' },
    ),
    tools: [
      tool({
        name: 'pay',
        secrets: ['ACCOUNT'],
        input: z.object({ from: z.string(), sum: z.number() }),
        execute(input) {
          received.execute.push(input)
          died?.()
          return new Promise<string>(() => {})
        },
        lookup: (_, input) => {
          received.lookup.push(input)
          return { output: 'paid' }
        },
      }),
    ],
  })
}

/** Runs until the process dies in the payment, then resumes in another process. */
async function lookedUp() {
  const { ephemeral: _, ...store } = memoryStore()
  const received: Received = { execute: [], lookup: [] }
  const died = Promise.withResolvers<void>()
  const first = await payer(store, received, died.resolve).createSession({ id: 's' })
  first.send('Pay.')
  await died.promise
  for (const entry of await readLog(store, 's')) {
    if (entry.type === 'call' && entry.op === 'started') await store.release('s', entry.fence)
  }
  const session = await payer(store, received).resumeSession('s')
  const result = await session.resume().result
  void first.abort()
  return { received, result, log: JSON.stringify(await readLog(store, 's')) }
}

test('the lookup of a call whose input has a secret receives the value; the log has the token', async () => {
  const { received, result, log } = await lookedUp()
  const input = { from: `IBAN ${value}`, sum: 7 }
  expect(received).toEqual({ execute: [input], lookup: [input] })
  expect(result.status).toBe('completed')
  expect(log).not.toContain(value)
  expect(log).toContain('⟦secret:ACCOUNT⟧')
})
