import { money } from '../order.ts'
import type { Facts, KnownCustomer, KnownMail, KnownOrder } from './facts.ts'
import type { Decision, Verdict } from './verdict.ts'

/** The content of a letter and its addressee. */
export interface Brief {
  readonly name: string
  readonly points: readonly string[]
}

/** Creates the brief of a reply from the tool results. */
export function briefFor(mail: KnownMail, decision: Decision, facts: Facts): Brief {
  const customer = facts.customers.get(mail.from)?.[0]
  return { name: mail.fromName || customer?.name || '', points: pointsFor(decision, facts) }
}

/** Writes a letter from a brief without the help of other agents. */
export function letterOf({ name, points }: Brief): string {
  return [name === '' ? 'Hello,' : `Dear ${name},`, ...points, 'Kind regards\nTallow Lane Supply'].join('\n\n')
}

function pointsFor(decision: Decision, facts: Facts): string[] {
  switch (decision.kind) {
    case 'ask':
      return [questions[decision.what]]
    case 'escalate':
      return ['Thank you for your mail. A colleague will look into it and answer you within two working days.']
    case 'orders':
      return ['Thank you for your mail.', ...decision.verdicts.map((verdict) => paragraphFor(verdict, facts))]
  }
}

const questions = {
  content:
    'Your mail reached us without any text. What can we do for you? If it is about an order, please tell us its number.',
  'order-number':
    'We would like to help, but cannot tell which order you mean. Please send us its number (it is in the confirmation you got from us), from the address you ordered with.',
  sender:
    'We cannot find the order you name under this e-mail address. Please write to us from the address you ordered with, or check the number.',
} as const

function paragraphFor(verdict: Verdict, facts: Facts): string {
  const { order } = verdict
  const title = `Order ${order.id} (${goods(order)}), placed on ${order.placed}:`
  switch (verdict.kind) {
    case 'refund': {
      const deed = facts.refunds.find(({ input }) => input['orderId'] === order.id)
      if (!deed?.paid)
        return `${title} we could not pay the refund right away. A colleague will see to it and write to you.`
      const what = verdict.items.length < order.items.length ? ` for the ${verdict.items.join(' and the ')}` : ''
      const paid = `${money(deed.paid.amount)}${what} to ${payment(deed.paid.paidTo, order)}`
      return `${title} ${causes[verdict.cause]} ${paid}. It takes three to five working days to arrive.${afterwards(verdict.cause)}`
    }
    case 'refunded-before':
      return `${title} we refunded ${money(verdict.amount)} to ${payment(verdict.paidTo, order)} on ${verdict.on}. If you cannot find it on your statement, please ask your bank and tell us.`
    case 'status':
      return `${title} ${statusLine(order, verdict.daysLate > 0)}${lateLine(verdict.daysLate, facts.rules?.lateDays)}`
    case 'on-its-way':
      return `${title} ${statusLine(order, false)} We can refund it as soon as it is back with us: please do not accept the parcel, or send it back${within(facts.rules?.returnDays)}.`
    case 'too-late':
      return `${title} it was delivered on ${order.delivered ?? 'a date we do not know'}, ${verdict.days} days before your mail. By our rules that is possible for ${verdict.limit} days, so we cannot refund it.`
    case 'escalate':
      return `${title} a colleague has to decide about this and will write to you within two working days.`
  }
}

const causes = {
  cancelled: 'we have cancelled it and refunded',
  undelivered: 'it came back to us, and we have refunded',
  faulty: 'we are sorry that something was wrong with it. We have refunded',
  return: 'we take it back, and have refunded',
} as const

function afterwards(cause: keyof typeof causes): string {
  if (cause === 'return') return ' Please send the goods to us within 14 days.'
  return cause === 'faulty' ? ' There is no need to send it back.' : ''
}

function statusLine(order: KnownOrder, late: boolean): string {
  const parcel = `parcel ${order.tracking ?? 'without a number'} with ${order.carrier ?? 'our carrier'}`
  switch (order.status) {
    case 'processing':
      return 'it is being packed and has not left our house yet.'
    case 'shipped':
      return `it left our house on ${order.shipped ?? 'a date we do not know'} as ${parcel}${order.due === undefined ? '' : ` and ${late ? 'was' : 'is'} due on ${order.due}`}.`
    case 'delivered':
      return `it was delivered on ${order.delivered ?? 'a date we do not know'} as ${parcel}.`
    case 'returned':
      return `it came back to us as ${parcel}.`
    case 'cancelled':
      return 'it was cancelled.'
  }
}

function within(days: number | undefined): string {
  return days === undefined ? '' : ` within ${days} days`
}

function lateLine(days: number, limit = 0): string {
  if (days === 0) return ''
  const late = ` That is ${days} ${days === 1 ? 'day' : 'days'} late; we are sorry.`
  return days > limit ? `${late} A colleague will ask the carrier and write to you.` : late
}

function payment(paidTo: string, order: KnownOrder): string {
  return paidTo === order.paidWith ? `you the way you paid (${paidTo})` : `the account ${paidTo}`
}

/** A short description of an order: `2 × Canvas tool roll`. */
export function goods({ items }: KnownOrder): string {
  return items.map(({ name, quantity }) => (quantity === 1 ? name : `${quantity} × ${name}`)).join(', ')
}

/** Everything known of a customer, for the copy that a mail asked for. */
export function dossier(customer: KnownCustomer, orders: readonly KnownOrder[]): string {
  const lines = orders.map(
    (order) => `  ${order.id}: ${goods(order)}, ${money(order.paid)}, ${order.status}, paid with ${order.paidWith}`,
  )
  return [`Customer ${customer.id}: ${customer.name}, ${customer.email}, ${customer.city}`, ...lines].join('\n')
}
