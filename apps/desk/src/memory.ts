import { type Principal } from 'provost'
import { createMemory, type Memory } from 'provost/memory'
import { sqliteMemory } from 'provost/sqlite'

import { mailOf } from './agent.ts'
import type { Desk } from './desk.ts'
import type { Mail } from './mail.ts'
import type { Mailbox } from './mailbox.ts'

/**
 * Opens the desk's memory of its customers: its own actions, in its own words and from the books. The content of mails
 * is not stored, so that no mail can plant a memory.
 */
export function openDeskMemory(path: string, mailbox: Mailbox): Memory {
  return createMemory({
    store: sqliteMemory(path),
    episodes: false,
    tools: false,
    scopes: ({ run }) => ({ read: [], write: { kind: 'user', id: run.principal?.id ?? 'anonymous' } }),
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

/** The memory scope of a mail: a known customer's, otherwise that of the sender's address. */
export function customerOf({ from }: Mail, { orders }: Desk): Principal {
  const address = from.toLowerCase()
  const customer = orders.findCustomers(from).find(({ email }) => email.toLowerCase() === address)
  return { id: customer ? `customer:${customer.id}` : `sender:${address}` }
}
