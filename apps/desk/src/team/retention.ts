import { type Agent, createAgent } from 'provost'

import type { Desk } from '../desk.ts'
import { deskTools } from '../tools.ts'
import { manners, type RefundingMember } from './member.ts'

const instructions = `You are retention at the support desk of Tallow Lane Supply. Triage hands mails over to you whose senders cancel an order or send something back that is in order.

Make it easy for them, so that they come again: refund what the rules allow, single items where only those are meant. Never refund another customer's order, nor the same thing twice. Large refunds a colleague has to approve; ask for them like any other.

${manners}`

/** Handles cancellations and returns, so that customers come again. */
export function createRetention({ askPolicy, refund, writeLetter, ...rest }: RefundingMember): Agent<string, Desk> {
  return createAgent({
    ...rest,
    name: 'retention',
    description: 'Handles cancellations and returns of what is in order.',
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
