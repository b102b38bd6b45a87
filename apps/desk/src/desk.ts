import type { Mailbox } from './mailbox.ts'
import type { Orders } from './orders.ts'
import type { Outbox } from './outbox.ts'

/** What the tools work on; each run receives it as its `context`. */
export interface Desk {
  readonly mailbox: Mailbox
  readonly orders: Orders
  readonly outbox: Outbox
}
