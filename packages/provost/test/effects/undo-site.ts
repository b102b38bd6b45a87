import { setTimeout as sleep } from 'node:timers/promises'

import { createAgent } from '@provost/agent'
import type { Agent } from '@provost/agent'
import type { Compensation, SessionStore } from '@provost/core'
import { SessionBusyError } from '@provost/core'
import type { CrashInjector } from '@provost/testing'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { z } from 'zod'

import { withMoments } from './effect-site.ts'

/** An agent of a process that pays invoices 1 to 3, and can undo it. */
export function undoDesk(bank: string, store: SessionStore, crash?: CrashInjector): Agent {
  async function post(body: object, key: string): Promise<string> {
    const headers = { 'idempotency-key': key }
    const response = await fetch(`${bank}/effects`, { method: 'POST', headers, body: JSON.stringify(body) })
    return response.text()
  }
  const pay = tool({
    name: 'pay',
    input: z.object({ invoice: z.string() }),
    effectKey: ({ invoice }) => invoice,
    execute: ({ invoice }, { idempotencyKey }) => post({ pay: invoice }, idempotencyKey),
    async compensate(_, { input, idempotencyKey }) {
      await crash?.moment('before refund')
      await post({ refund: input.invoice }, idempotencyKey)
      await crash?.moment('after refund')
    },
  })
  const steps = ['1', '2', '3'].map((invoice) => ({ toolCalls: [{ name: 'pay', input: { invoice } }] }))
  return createAgent({
    name: 'desk',
    model: scriptedModel([...steps, { text: 'done' }]),
    tools: [pay],
    store: crash ? withMoments(crash, store) : store,
    leaseMs: 1_000,
  })
}

/** Compensates a session, and waits until the lease of a dead process expires. */
export async function compensateAll(
  agent: Agent,
  sessionId: string,
  isUndone: (invoice: string) => boolean = () => false,
): Promise<Compensation> {
  let decisions = {}
  for (;;) {
    try {
      const session = await agent.resumeSession(sessionId)
      const result = await session.compensate({ onApproval: () => 'approve', decisions })
      if (result.status !== 'suspended') return result
      const uncertain = result.pending.uncertain.map(({ callId, input }) => {
        const { invoice } = undone.parse(input).input
        return { callId, decision: isUndone(invoice) ? 'done' : 'retry' }
      })
      decisions = { uncertain }
    } catch (thrown) {
      if (!(thrown instanceof SessionBusyError)) throw thrown
      await sleep(100)
    }
  }
}

const undone = z.object({ input: z.object({ invoice: z.string() }) })
