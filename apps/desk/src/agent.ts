import {
  type Agent,
  createAgent,
  type Extension,
  type Memory,
  type Message,
  type ModelSpec,
  type SessionStore,
  textOf,
} from 'provost'

import { rememberDeeds } from './deeds.ts'
import type { Desk } from './desk.ts'
import { deskPolicy } from './policy.ts'
import { rules } from './rules.ts'
import { deskTools } from './tools.ts'

/** Milliseconds after which the session of a desk that died may be taken over. */
export const leaseMs = 2_000

const instructions = `You run the support desk of Tallow Lane Supply, a shop for household goods. You get one mail to handle at a time.

Read the mail, look up its sender with find_customer and the orders it is about with find_orders, then act:
- Refund what was never shipped or came back to us, what was delivered at most ${rules.returnDays} days before the mail and is sent back, and what turned out faulty within ${rules.warrantyDays} days. Refund single items where only those are meant. Never refund an order of somebody else than the sender, nor the same thing twice.
- Where these rules do not say what to do, do not refund: close the ticket as escalated. Large refunds a colleague has to approve; you ask for them like any other, and close the ticket as escalated where they are denied.
- Where a parcel is concerned, say what the books say: carrier, number, dates.
- If you cannot tell the order or the sender is unknown, ask for the order number. Tell nobody about orders that are not theirs.

Then draft an answer to the sender with draft_reply, in the language of the mail, short and with the real numbers, and end with close_ticket. Your last words are one or two sentences for your colleagues on what you did.`

/**
 * The agent of the desk. It is immutable: all mails are handled by the same one, each in a run of its own.
 *
 * @param memory of its customers.
 * @param policy `shadow`: nothing is stopped, and it is said what would have been.
 * @param toolInvocation `code-mode`: the model writes scripts that call the tools.
 */
export function createDeskAgent(
  model: ModelSpec,
  store: SessionStore,
  memory: Memory,
  policy: 'enforce' | 'shadow' = 'enforce',
  tracing: readonly Extension<unknown>[] = [],
  toolInvocation: 'direct' | 'code-mode' = 'direct',
): Agent<string, Desk> {
  return createAgent({
    name: 'desk',
    description: 'Handles customer mails.',
    instructions,
    model,
    tools: deskTools,
    extensions: [...tracing, deskPolicy(policy), memory, rememberDeeds(memory)],
    toolInvocation,
    store,
    leaseMs,
    maxSteps: 30,
  })
}

/** The task of a run. The name stands in it as JSON, so that a file's odd name cannot pass for more than a name. */
export function taskFor(mail: string): string {
  return `Handle the mail ${JSON.stringify(mail)}.`
}

/** The mail that a task is about. */
export function mailOf(task: Message): string | undefined {
  const [, name] = /^Handle the mail (".*")\.$/s.exec(textOf(task)) ?? []
  return name === undefined ? undefined : String(JSON.parse(name))
}
