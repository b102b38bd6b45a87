import type { Extension, ModelSpec } from 'provost'

import type { DeskTool } from '../tools.ts'

/** What all agents that write to customers are created with. */
export interface Member {
  readonly model: ModelSpec
  /** Extensions of each agent; those for the whole team come with triage, which receives every mail first. */
  readonly extensions: readonly Extension<unknown>[]
  /** The tool that has a letter written by the writers. */
  readonly writeLetter: DeskTool
  /** The tool that asks the researcher for the shop's rules. */
  readonly askPolicy: DeskTool
}

/** A member that may refund. */
export interface RefundingMember extends Member {
  readonly refund: DeskTool
}

/** Instructions for every agent that handles a mail. */
export const manners: string = `Ask for the shop's rules with ask_policy, look up the sender with find_customer and the orders the mail is about with find_orders, before you act. If you cannot tell the order or the sender is unknown, ask for the order number. Give information about an order only to its customer. Where the rules do not say what to do, close the ticket as escalated.

Then have the answer written with write_letter, in the language of the mail and with the real numbers, draft it to the sender with draft_reply as it was written, and end with close_ticket. Your last words are one or two sentences for your colleagues on what you did.`
