import { ProvostError, rich, tool, type Tool, type ToolContext, z } from 'provost'

import type { Bank } from './bank.ts'
import type { Desk } from './desk.ts'
import { reasonOf } from './fault.ts'
import type { Mail } from './mail.ts'
import { type Customer, money, type Order, outcomes, type PaidRefund } from './order.ts'
import { rules } from './rules.ts'
import { oneLine } from './terminal.ts'

type Ctx = ToolContext<Desk>

/** Adds one line for the view; the model does not receive it. */
const brief = (line: string): { readonly details: { readonly brief: string } } => ({ details: { brief: line } })

const mailName = z.string().describe('The file name of the mail, such as 01-refund.eml')

const listMails = tool({
  name: 'list_mails',
  description:
    'Lists the mails in the folder with sender, subject and how they were closed, 50 at a time, by file name.',
  effect: 'read',
  input: z.object({ after: mailName.optional().describe('Start behind this mail') }),
  args: { after: 'selector' },
  // Senders and subjects are as untrusted as the text.
  returns: { integrity: 'untrusted', confidentiality: 'internal' },
  async execute({ after }, { context }: Ctx) {
    const names = context.mailbox.names.filter((name) => after === undefined || name > after)
    const mails = await Promise.all(names.slice(0, 50).map((name) => headingOf(context, name)))
    return rich({ mails, more: names.length > 50 }, brief(`${mails.length} mails`))
  },
})

async function headingOf({ mailbox, orders }: Desk, name: string): Promise<Record<string, string>> {
  try {
    const { from, subject, key } = await mailbox.read(name)
    return { mail: name, from, subject, ticket: orders.ticketOf(key)?.outcome ?? 'open' }
  } catch (error) {
    return { mail: name, problem: reasonOf(error) }
  }
}

const readMail = tool({
  name: 'read_mail',
  description: 'Reads one mail: sender, subject, text, attachments (with their text where they have one).',
  effect: 'read',
  input: z.object({ mail: mailName }),
  args: { mail: 'selector' },
  trustedFields: ['/mail'],
  async execute({ mail }, { context }: Ctx) {
    const found = await context.mailbox.read(mail)
    return rich(contentOf(found), brief(briefMail(found)))
  },
  returns: ({ mail }) => ({ integrity: 'untrusted', confidentiality: 'internal', sources: [`mail:${mail}`] }),
})

function contentOf({
  key: _key,
  raw: _raw,
  name,
  ...content
}: Mail): { readonly mail: string } & Omit<Mail, 'key' | 'raw' | 'name'> {
  return { mail: name, ...content }
}

function briefMail({ text, attachments }: Mail): string {
  const files = attachments.map(({ name }) => name)
  const said = text === '' ? 'no text' : `“${oneLine(text, 90)}”`
  return files.length === 0 ? said : `${said} + ${files.join(', ')}`
}

const findCustomer = tool({
  name: 'find_customer',
  description: 'Finds customers by e-mail address, customer id or part of the name. "*" returns all of them.',
  effect: 'read',
  input: z.object({ query: z.string().min(1) }),
  args: { query: 'selector' },
  execute({ query }, { context }: Ctx) {
    const customers = context.orders.findCustomers(query)
    return rich({ customers }, brief(briefCustomers(customers)))
  },
  // A customer's own data may go to that customer; a list of several customers stays inside.
  returns: ({ customers }) => ({
    integrity: 'trusted',
    confidentiality: customers.length === 0 ? 'internal' : 'secret',
    ...(customers.length > 0 && { readers: customers.length === 1 ? customers.map(({ email }) => email) : [] }),
    sources: customers.map(({ id }) => `customer:${id}`),
  }),
})

function briefCustomers(customers: readonly Customer[]): string {
  const [one, ...others] = customers
  if (!one) return 'no customer'
  return others.length === 0 ? `${one.id} ${one.name}, ${one.city}` : `${customers.length} customers`
}

const findOrders = tool({
  name: 'find_orders',
  description:
    'Finds orders by number, or all orders of a customer: status, parcel, items, payment, refunds. Amounts in EUR.',
  effect: 'read',
  // Not a union: several providers require an object as the tool's input.
  input: z.object({ orderId: z.int().optional(), customerId: z.string().optional() }),
  args: { orderId: 'selector', customerId: 'selector' },
  returns: { integrity: 'trusted', confidentiality: 'internal' },
  execute({ orderId, customerId }, { context }: Ctx) {
    if (orderId === undefined && customerId === undefined)
      throw new ProvostError('no-selector', 'find_orders needs something to look for.', {
        hint: 'Give orderId or customerId.',
      })
    const found =
      orderId === undefined ? context.orders.ordersOf(customerId ?? '') : [context.orders.orderById(orderId)]
    const orders = found
      .filter((order) => order !== undefined)
      .filter((order) => customerId === undefined || order.customerId === customerId)
    return rich({ orders }, brief(orders.length === 0 ? 'none' : orders.map(briefOrder).join('; ')))
  },
})

function briefOrder({ id, status, paid, items, refunds }: Order): string {
  const what = items.map(({ name, quantity }) => (quantity === 1 ? name : `${quantity} × ${name}`)).join(' + ')
  return `${id} ${status}, ${money(paid)}, ${what}${refunds.length > 0 ? ', refunded before' : ''}`
}

const refundInput = z.object({
  mail: mailName.describe('The mail that asks for it'),
  orderId: z.int(),
  amount: z.number().positive().describe('EUR'),
  reason: z.string().min(1).max(200),
  payTo: z.string().max(80).optional(),
})
type RefundInput = z.output<typeof refundInput>

function lookupAt(find: NonNullable<Bank['find']>) {
  return async (key: string): Promise<{ readonly output: PaidRefund } | undefined> => {
    const paid = await find(key)
    return paid && { output: paid }
  }
}

/** Creates the tool that refunds. Without a bank it moves no money: the books record the refund. */
export function createRefund(bank?: Bank): DeskTool {
  return tool({
    name: 'refund',
    description:
      'Pays money back for an order, once per order and mail, never more than was paid. It goes back the way it was paid unless payTo names another account.',
    effect: 'write',
    // The books store the key of a refund: after a crash the call may be repeated. A bank may lose its reply.
    ...(bank
      ? {
          effectKey: ({ mail, orderId }: RefundInput) => `${orderId} for ${mail}`,
          ...(bank.find && { lookup: lookupAt(bank.find) }),
        }
      : { idempotent: true }),
    needsApproval: ({ orderId, amount }) =>
      amount > rules.refundLimit && {
        reason: `${money(amount)} on order ${orderId} is more than ${money(rules.refundLimit)}`,
      },
    // One at a time: two refunds of one step must not both see the same balance.
    executionMode: 'sequential',
    input: refundInput,
    args: { mail: 'selector', orderId: 'selector', amount: 'amount', reason: 'content', payTo: 'destination' },
    returns: { integrity: 'trusted', confidentiality: 'internal' },
    async execute({ mail, ...request }, { context, idempotencyKey }: Ctx) {
      const { key } = await context.mailbox.read(mail)
      // A payment that is requested again has a new key, but is the same refund in the books.
      const booked = bank ? `${request.orderId} for ${key}` : idempotencyKey
      const paid = context.orders.refund({ ...request, mailKey: key, idempotencyKey: booked })
      await bank?.pay(idempotencyKey, paid)
      return rich(paid, brief(`${money(paid.amount)} to ${paid.paidTo}`))
    },
  })
}

const email = z.email().max(200)

const draftReply = tool({
  name: 'draft_reply',
  description: 'Puts the draft of an answer into the outbox. A draft to the same address replaces the one before.',
  effect: 'egress',
  idempotent: true,
  input: z.object({
    mail: mailName.describe('The mail it answers'),
    to: email,
    subject: z.string().max(300),
    body: z.string().min(1).max(20_000),
  }),
  args: { mail: 'selector', to: 'destination', subject: 'content', body: 'content' },
  returns: { integrity: 'trusted', confidentiality: 'internal' },
  async execute({ mail, ...letter }, { context }: Ctx) {
    const file = await context.outbox.reply(await context.mailbox.read(mail), letter)
    return rich({ to: letter.to, file }, brief(`outbox/${file}`))
  },
})

const forwardMail = tool({
  name: 'forward_mail',
  description: 'Drafts a letter to any address with the mail attached, for example to forward it to a supplier.',
  effect: 'egress',
  idempotent: true,
  input: z.object({ mail: mailName.describe('The mail to attach'), to: email, note: z.string().max(20_000) }),
  args: { mail: 'attachment', to: 'destination', note: 'content' },
  returns: { integrity: 'trusted', confidentiality: 'internal' },
  async execute({ mail, to, note }, { context }: Ctx) {
    const found = await context.mailbox.read(mail)
    const file = await context.outbox.forward(found, { to, subject: `Fwd: ${found.subject}`, body: note })
    return rich({ to, file }, brief(`outbox/${file}`))
  },
})

const closeTicket = tool({
  name: 'close_ticket',
  description:
    'Says how a mail ended: answered, refunded, waiting (for the customer) or escalated (a colleague has to decide).',
  effect: 'write',
  idempotent: true,
  input: z.object({ mail: mailName, outcome: z.enum(outcomes), note: z.string().max(500) }),
  args: { mail: 'selector', outcome: 'flag', note: 'content' },
  returns: { integrity: 'trusted', confidentiality: 'internal' },
  async execute({ mail, outcome, note }, { context }: Ctx) {
    const { key } = await context.mailbox.read(mail)
    context.orders.closeTicket(key, { mail, outcome, note })
    return rich({ mail, outcome }, brief(outcome))
  },
})

/** A tool of the desk. */
export type DeskTool = Tool<never, unknown, Desk>

/** The tools of the desk beside the refund. Each agent receives the tools of its role. */
export const deskTools: Readonly<
  Record<
    'listMails' | 'readMail' | 'findCustomer' | 'findOrders' | 'draftReply' | 'forwardMail' | 'closeTicket',
    DeskTool
  >
> = { listMails, readMail, findCustomer, findOrders, draftReply, forwardMail, closeTicket }
