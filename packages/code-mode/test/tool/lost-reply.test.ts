import { createAgent } from '@provost/agent'
import { effectServer, scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

import { codeMode } from '../fixture/subject.ts'

/** A script that repeats itself until it is told of a receipt. */
const source = `for (let n = 0; n < 3; n++) {
  try { return await tools.pay({ invoice: '17' }) } catch (error) { console.log(String(error)) }
}`

// Concurrent: a reply that hangs takes the whole time limit.
describe.concurrent.each([{ keyed: true }, { keyed: false }])(
  'a payment by a script that repeats itself ($keyed)',
  ({ keyed }) => {
    test.each(
      (['drop', 'lose-reply', 'error-after', 'hang'] as const).flatMap((fault) =>
        [true, false].map((lookup) => ({ fault, lookup })),
      ),
    )('takes place once after $fault, where a lookup is $lookup', async ({ fault, lookup }) => {
      const bank = await effectServer({ knowsKeys: false, faults: [fault] })
      const pay = tool({
        name: 'pay',
        input: z.object({ invoice: z.string() }),
        timeoutMs: 1_000,
        async execute({ invoice }, { idempotencyKey, signal }) {
          const headers = { 'idempotency-key': idempotencyKey }
          const body = JSON.stringify(invoice)
          const response = await fetch(`${bank.url}/effects`, { method: 'POST', headers, body, signal })
          if (!response.ok) throw Object.assign(new Error('The bank failed.'), { status: response.status })
          return 'receipt'
        },
        ...(keyed && { effectKey: ({ invoice }: { readonly invoice: string }) => invoice }),
        ...(lookup && {
          lookup: async (key: string) =>
            (await fetch(`${bank.url}/effects/${key}`)).ok ? { output: 'receipt' } : undefined,
        }),
      })
      const model = scriptedModel(
        [
          ({ messages }) =>
            messages.at(-1)?.role === 'tool'
              ? { text: JSON.stringify(messages.at(-1)) }
              : { toolCalls: [{ name: 'code_execute', input: { source } }] },
        ],
        { after: 'repeat-last' },
      )
      const agent = createAgent({ name: 'desk', model, tools: [pay], extensions: [codeMode({ workers: 1 })] })
      let asked = 0
      let result = await agent.run('pay')
      while (result.status === 'suspended') {
        const took = bank.effects.length > 0
        asked += result.pending.uncertain.length
        const uncertain = result.pending.uncertain.map(({ callId }) =>
          took ? { callId, decision: 'done' as const, output: 'receipt' } : { callId, decision: 'retry' as const },
        )
        result = await agent.run(result.state, { uncertain })
      }
      expect(result.status).toBe('completed')
      expect(result.text).toContain('receipt')
      expect(bank.effects).toHaveLength(1)
      expect([asked, bank.lookups]).toEqual(lookup ? [0, 1] : [1, 0])
      await bank.close()
    })
  },
)
