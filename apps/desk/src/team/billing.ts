import { type Agent, createAgent } from 'provost'

import type { Desk } from '../desk.ts'
import { deskTools } from '../tools.ts'
import { manners, type RefundingMember } from './member.ts'

const instructions = `You are billing at the support desk of Tallow Lane Supply. Triage hands mails over to you that are about money.

Refund what the rules allow, single items where only those are meant. Never refund another customer's order, nor the same thing twice. Large refunds a colleague has to approve; ask for them like any other, and close the ticket as escalated where they are denied. Where the mail also asks for a parcel, say what the books say of it.

${manners}`

/** Handles refunds, by the rules. */
export function createBilling({ askPolicy, refund, writeLetter, ...rest }: RefundingMember): Agent<string, Desk> {
  return createAgent({
    ...rest,
    name: 'billing',
    description: 'Handles what is about money: faulty goods, wrong charges, refunds.',
    instructions,
    tools: [
      deskTools.readMail,
      deskTools.findCustomer,
      deskTools.findOrders,
      refund,
      deskTools.draftReply,
      deskTools.forwardMail,
      deskTools.closeTicket,
      askPolicy,
      writeLetter,
    ],
  })
}
