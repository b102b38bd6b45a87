import { defineExtension, type Extension, z } from 'provost'
import { type Memory } from 'provost/memory'

import { money } from './order.ts'

const mailInput = z.object({ mail: z.string(), payTo: z.string().optional() })
const refunded = z.object({ orderId: z.number(), amount: z.number() })
const closed = z.object({ outcome: z.string() })

/** Records each action for a customer as soon as it is done. */
export function rememberDeeds(memory: Memory): Extension<unknown> {
  return defineExtension({
    name: 'deeds',
    hooks: {
      async 'tool.result'({ callId, tool, input, outcome, value }, { run, report }) {
        const { data } = mailInput.safeParse(input)
        if (outcome !== 'ok' || !data || !run.principal) return
        const deed = deedOf(tool.name, data, value)
        if (!deed) return
        const init = { id: `${run.id}/${callId}`, source: 'desk', principal: run.principal, key: deed.key } as const
        const sources = ['desk', run.principal.id]
        // The action is done even if it cannot be recorded.
        await memory
          .remember(deed.text, { ...init, label: { integrity: 'trusted', confidentiality: 'internal', sources } })
          .catch((error: unknown) => report(error, 'deeds'))
      },
    },
  })
}

function deedOf(
  tool: string,
  { mail, payTo }: z.output<typeof mailInput>,
  value: unknown,
): { readonly key: string; readonly text: string } | undefined {
  const name = JSON.stringify(mail)
  if (tool === 'refund') {
    const { data } = refunded.safeParse(value)
    const where = payTo === undefined ? '' : ', to another account than it was paid from'
    return (
      data && {
        key: `refund/${data.orderId}/${mail}`,
        text: `Refunded ${money(data.amount)} on order ${data.orderId}${where}, for the mail ${name}.`,
      }
    )
  }
  if (tool !== 'close_ticket') return undefined
  const { data } = closed.safeParse(value)
  return data && { key: `ticket/${mail}`, text: `The mail ${name} was closed as ${data.outcome}.` }
}
