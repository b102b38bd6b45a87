import { createMemory, type Memory, type Principal, sqliteMemory } from 'provost'

import { mailOf } from './agent.ts'
import type { Desk } from './desk.ts'
import type { Mail } from './mail.ts'
import type { Mailbox } from './mailbox.ts'

/**
 * What the desk remembers of its customers between runs: what it did, in its own words and by the books. What mails say
 * is not remembered, so that no mail can plant anything for the next one.
 */
export function openDeskMemory(path: string, mailbox: Mailbox): Memory {
  return createMemory({
    store: sqliteMemory(path),
    episodes: false,
    tools: false,
    scopes: ({ run }) => ({ read: [], write: { kind: 'user', id: run.principal?.id ?? 'nobody' } }),
    reminders: {
      limit: 4,
      async query(task) {
        const name = mailOf(task)
        if (name === undefined) return undefined
        const { subject, text } = await mailbox.read(name)
        return `mail refund order ${subject}\n${text}`
      },
    },
  })
}

/** Whose memory a mail reaches: a customer's of the books, else that of the address it came from. */
export function customerOf({ from }: Mail, { orders }: Desk): Principal {
  const address = from.toLowerCase()
  const customer = orders.findCustomers(from).find(({ email }) => email.toLowerCase() === address)
  return { id: customer ? `customer:${customer.id}` : `sender:${address}` }
}
