import { createAgent } from '@provost/agent'
import type { MaybePromise } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import type { ScriptedPrompt, ScriptedStep } from '@provost/testing'
import { tool } from '@provost/tools'
import { z } from 'zod'

import { readLog } from '../run/run-check.ts'

export const input = z.object({ n: z.number() })
interface Receipt {
  readonly paid: number
  readonly times: number
}
export type Lookup = () => MaybePromise<{ readonly output: Receipt } | undefined>

/** What happens to a payment: its process may die before or behind its effect. */
interface Bank {
  readonly paid: Map<string, Receipt>
  readonly looked: string[]
  lookup?: Lookup
  dies?: 'before' | 'behind'
  died(): void
}

export function payer(store: ReturnType<typeof memoryStore>, bank: Bank, more: { readonly timeoutMs?: number } = {}) {
  return createAgent({
    name: 'payer',
    store,
    model: scriptedModel([
      ({ messages }: ScriptedPrompt): ScriptedStep =>
        messages.some(({ role }) => role === 'tool')
          ? { text: JSON.stringify(messages.at(-1)?.content) }
          : { toolCalls: [{ name: 'pay', input: { n: 7 }, id: 'same' }] },
    ]),
    tools: [
      tool({
        name: 'pay',
        input,
        ...more,
        async execute({ n }, { idempotencyKey }): Promise<Receipt> {
          const { dies } = bank
          const gone = (): Promise<never> => (bank.died(), new Promise(() => {}))
          if (dies === 'before') await gone()
          const receipt = { paid: n, times: bank.paid.size + 1 }
          bank.paid.set(idempotencyKey, receipt)
          if (dies === 'behind') await gone()
          return receipt
        },
        lookup: (key) => {
          bank.looked.push(key)
          if (bank.lookup) return bank.lookup()
          const output = bank.paid.get(key)
          return output === undefined ? undefined : { output }
        },
      }),
    ],
  })
}

/** A process that died in the payment, and the session as the next one finds it. */
export async function afterDeath(
  dies: 'before' | 'behind',
  lookup?: Lookup,
  more: { readonly timeoutMs?: number } = {},
) {
  const { ephemeral: _, ...store } = memoryStore()
  const died = Promise.withResolvers<void>()
  const bank: Bank = { paid: new Map(), looked: [], died: died.resolve, dies, ...(lookup && { lookup }) }
  const first = await payer(store, bank).createSession({ id: 's' })
  first.send('Pay.')
  await died.promise
  for (const entry of await readLog(store, 's')) {
    if (entry.type === 'call' && entry.op === 'started') await store.release('s', entry.fence)
  }
  delete bank.dies
  const session = await payer(store, bank, more).resumeSession('s')
  return { bank, store, session, kill: () => void first.abort() }
}
