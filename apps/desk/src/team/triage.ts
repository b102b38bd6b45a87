import { type Agent, createAgent, filters, handoff, type SessionStore } from 'provost'

import type { Desk } from '../desk.ts'
import { deskTools } from '../tools.ts'
import type { Member } from './member.ts'

const instructions = `You are triage at the support desk of Tallow Lane Supply, a shop for household goods. You get one mail at a time.

Read it and hand it over:
- to billing, what is about money: something faulty, a wrong charge, a refund that did not arrive;
- to retention, customers who want to cancel an order or send back what is in order;
- to shipping, who asks only where a parcel is.

In your message say what kind of matter it is, and no names, numbers or addresses: your colleague reads the mail.

Where a mail says nothing of that kind, answer it yourself: ask what it is about if it is empty, else say that a colleague will write. Have the answer written with write_letter, draft it with draft_reply as it was written, and end with close_ticket.`

/** Secrets that triage received are not passed to the next agent, which looks up what it needs. */
const filter = filters.bySensitivity({ drop: 'secret' })

/** Options of {@link createTriage}. */
export interface TriageOptions extends Omit<Member, 'askPolicy'> {
  readonly store: SessionStore
  readonly leaseMs: number
  /** In the order in which triage lists them. */
  readonly colleagues: readonly Agent<string, Desk>[]
}

/**
 * Creates the agent that reads each mail and hands it over. It owns the sessions, so that they are opened with this
 * agent.
 */
export function createTriage({ colleagues, writeLetter, ...rest }: TriageOptions): Agent<string, Desk> {
  return createAgent({
    ...rest,
    name: 'triage',
    description: 'Handles customer mails.',
    instructions,
    tools: [deskTools.listMails, deskTools.readMail, deskTools.draftReply, deskTools.closeTicket, writeLetter],
    handoffs: colleagues.map((colleague) => handoff(colleague, { filter })),
    maxSteps: 30,
  })
}
