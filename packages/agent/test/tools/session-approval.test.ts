import { createAgent } from '@provost/agent'
import { defineExtension } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

/**
 * A session that makes the same payment in each run. Each of its questions may offer an approval for the session.
 *
 * @param audited whether an extension asks as well, which may offer it too.
 */
async function paying(audited = false) {
  const paid: number[] = []
  const offers = { sticky: true, audit: true }
  const audit = defineExtension({
    name: 'audit',
    hooks: {
      'tool.call': () => ({ ask: { reason: 'audit', ...(offers.audit && { sticky: 'session' as const }) } }),
    },
  })
  const agent = createAgent({
    name: 'payer',
    store: memoryStore(),
    model: scriptedModel(
      [({ messages }) => (messages.at(-1)?.role === 'tool' ? { text: 'Paid.' } : { toolCalls: [call] })],
      { after: 'repeat-last' },
    ),
    tools: [
      tool({
        name: 'pay',
        input: z.object({ sum: z.number() }),
        needsApproval: () => ({ reason: 'money', ...(offers.sticky && { sticky: 'session' as const }) }),
        execute: ({ sum }) => paid.push(sum),
      }),
    ],
    ...(audited && { extensions: [audit] }),
  })
  const session = await agent.createSession({ id: 's' })
  return {
    paid,
    offers,
    /** Asks for a payment. Returns the status of the run. */
    async pay() {
      session.send('Pay.')
      return (await session.waitForIdle())?.status
    },
    /** Decides the open question for the session. Returns the status of the run. */
    async decide(decision: 'approve' | 'deny') {
      const id = session.pending.approvals[0]?.id ?? ''
      await session.resolve({ approvals: [{ id, decision, sticky: 'session' }] })
      return (await session.waitForIdle())?.status
    },
  }
}

const call = { name: 'pay', input: { sum: 5 } }

describe('an approval for the session', () => {
  test('answers later questions that offer it, and no other questions', async () => {
    const { paid, offers, pay, decide } = await paying()
    expect([await pay(), await decide('approve'), await pay(), paid]).toEqual([
      'suspended',
      'completed',
      'completed',
      [5, 5],
    ])
    offers.sticky = false
    expect([await pay(), paid]).toEqual(['suspended', [5, 5]])
  })

  test('counts once where the question did not offer it', async () => {
    const { paid, offers, pay, decide } = await paying()
    offers.sticky = false
    expect([await pay(), await decide('approve'), paid]).toEqual(['suspended', 'completed', [5]])
    offers.sticky = true
    expect([await pay(), paid]).toEqual(['suspended', [5]])
  })

  test('is not recorded by a denial', async () => {
    const { paid, pay, decide } = await paying()
    expect([await pay(), await decide('deny'), paid]).toEqual(['suspended', 'completed', []])
    expect([await pay(), paid]).toEqual(['suspended', []])
  })
  test('answers later questions where all requests of a question offer it', async () => {
    const { paid, pay, decide } = await paying(true)
    expect([await pay(), await decide('approve'), paid]).toEqual(['suspended', 'completed', [5]])
    expect([await pay(), paid]).toEqual(['completed', [5, 5]])
  })

  test.each([
    ['the tool', { sticky: true, audit: false }],
    ['the extension', { sticky: false, audit: true }],
  ])('counts once where only the request of %s offers it', async (_, offered) => {
    const { paid, offers, pay, decide } = await paying(true)
    Object.assign(offers, offered)
    expect([await pay(), await decide('approve'), paid]).toEqual(['suspended', 'completed', [5]])
    Object.assign(offers, { sticky: true, audit: true })
    expect([await pay(), paid]).toEqual(['suspended', [5]])
  })

  test.each([
    ['the tool', { sticky: false }],
    ['the extension', { audit: false }],
  ])('does not answer a later question where the request of %s no longer offers it', async (_, withdrawn) => {
    const { paid, offers, pay, decide } = await paying(true)
    expect([await pay(), await decide('approve'), paid]).toEqual(['suspended', 'completed', [5]])
    Object.assign(offers, withdrawn)
    expect([await pay(), paid]).toEqual(['suspended', [5]])
  })
})
