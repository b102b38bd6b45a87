import { type Agent, createAgent } from 'provost'

import type { Desk } from '../desk.ts'
import { deskTools } from '../tools.ts'
import { manners, type Member } from './member.ts'

const instructions = `You are shipping at the support desk of Tallow Lane Supply. Triage hands mails over to you that ask where a parcel is.

Say what the books say: carrier, number, dates. You cannot refund anything: close the ticket as escalated where that is asked for.

${manners}`

/** Handles questions about parcels. It has no tool that moves money. */
export function createShipping({ askPolicy, writeLetter, ...rest }: Member): Agent<string, Desk> {
  return createAgent({
    ...rest,
    name: 'shipping',
    description: 'Handles questions about parcels.',
    instructions,
    tools: [
      deskTools.readMail,
      deskTools.findCustomer,
      deskTools.findOrders,
      deskTools.draftReply,
      deskTools.forwardMail,
      deskTools.closeTicket,
      askPolicy,
      writeLetter,
    ],
  })
}
