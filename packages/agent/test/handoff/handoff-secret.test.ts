import { createAgent, handoff } from '@provost/agent'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { secretRef, tool } from '@provost/tools'
import { expect, test } from 'vitest'
import { z } from 'zod'

import { readLog } from '../run/run-check.ts'

const input = z.object({})

test('an agent that a conversation is handed to has its own secrets and not those of the one before; all stay hidden', async () => {
  const got: string[] = []
  const use = (name: string, secret: string) =>
    tool({
      name,
      input,
      secrets: [secret],
      execute(_, { secrets }) {
        got.push(secrets[secret] ?? '')
        return `used ${secrets[secret]}`
      },
    })
  const bank = createAgent({
    name: 'bank',
    model: scriptedModel([{ toolCalls: [{ name: 'own' }, { name: 'other' }] }, { text: 'Done.' }]),
    tools: [use('own', 'BANK'), use('other', 'DESK')],
    secrets: { BANK: secretRef(() => 'bank-password-77') },
  })
  const store = memoryStore()
  const desk = createAgent({
    name: 'desk',
    model: scriptedModel([{ toolCalls: [{ name: 'transfer_to_bank' }] }]),
    tools: [use('mine', 'DESK')],
    handoffs: [handoff(bank)],
    secrets: { DESK: secretRef(() => 'desk-password-88') },
    store,
  })
  const result = await desk.run('Pay.')
  expect(result.status).toBe('completed')
  expect(got).toEqual(['bank-password-77'])
  const log = JSON.stringify(await readLog(store, result.sessionId))
  expect(log).toContain('used ⟦secret:BANK⟧')
  expect(log).toContain('secret-denied')
  expect(log).not.toMatch(/password/)
})
