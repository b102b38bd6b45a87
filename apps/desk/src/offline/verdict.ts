import { remainingOf } from '../order.ts'
import { byCustomer, byOrder, type Facts, type KnownMail, type KnownOrder, type KnownRules } from './facts.ts'
import { itemsMeant, type Reading, type Wish } from './reading.ts'

/** The reason for a refund. */
export type Cause = 'faulty' | 'cancelled' | 'undelivered' | 'return'
/** The decision on one order. */
export type Verdict = { readonly order: KnownOrder } & (
  | { readonly kind: 'refund'; readonly amount: number; readonly cause: Cause; readonly items: readonly string[] }
  | { readonly kind: 'refunded-before'; readonly amount: number; readonly on: string; readonly paidTo: string }
  | { readonly kind: 'status'; readonly daysLate: number }
  | { readonly kind: 'on-its-way' }
  | { readonly kind: 'too-late'; readonly days: number; readonly limit: number }
  | { readonly kind: 'escalate'; readonly why: string }
)
/** The decision on a mail. */
export type Decision =
  | { readonly kind: 'orders'; readonly verdicts: readonly Verdict[] }
  | { readonly kind: 'ask'; readonly what: 'content' | 'order-number' | 'sender' }
  | { readonly kind: 'escalate'; readonly why: string }

const day = 86_400_000

/** Decides from the tool results. All required look-ups are complete. */
export function decide(mail: KnownMail, reading: Reading, facts: Facts): Decision {
  if (mail.text.trim() === '' && mail.attachments.length === 0) return { kind: 'ask', what: 'content' }
  const customer = facts.customers.get(mail.from)?.[0]
  const { money: wantsMoney, status, damaged } = reading.wish
  const named = reading.orderIds.flatMap((id) => facts.orders.get(byOrder(id)) ?? [])
  if (!customer) return { kind: 'ask', what: named.length > 0 ? 'sender' : 'order-number' }

  const own = named.filter((order) => order.customerId === customer.id)
  if (own.length === 0 && named.length > 0) return { kind: 'ask', what: 'sender' }
  const meant = own.length > 0 ? own : guess(facts.orders.get(byCustomer(customer.id)) ?? [], mail)
  if (!wantsMoney && !status && !damaged)
    return { kind: 'escalate', why: 'the question is not about a refund or a parcel' }
  if (meant.length === 0) return { kind: 'ask', what: 'order-number' }
  return {
    kind: 'orders',
    verdicts: meant.map((order) => {
      const { wish, complaint } = reading.about(order.id)
      return judge(order, wish, complaint, mailTime(mail), facts.rules)
    }),
  }
}

/** Guesses the order of a mail without a number: the only order, or the only one whose goods it names. */
function guess(orders: readonly KnownOrder[], mail: KnownMail): readonly KnownOrder[] {
  if (orders.length === 1) return orders
  const goods = orders.map(({ id, items }) => ({ id, name: items.map(({ name }) => name).join(' ') }))
  const meant = itemsMeant(goods, `${mail.subject} ${mail.text}`)
  return meant.length === 1 ? orders.filter(({ id }) => id === meant[0]?.id) : []
}

function judge(order: KnownOrder, wish: Wish, complaint: string, now: number, rules: KnownRules = {}): Verdict {
  if (!wish.money && !wish.damaged) return statusOf(order, now)
  const meant = itemsMeant(order.items, complaint)
  const left = remainingOf(order)
  const amount = meant.length === 0 ? left : sum(meant)
  const before = order.refunds.find((refund) => left === 0 || (meant.length > 0 && refund.amount === amount))
  if (before) return { order, kind: 'refunded-before', amount: before.amount, on: before.on, paidTo: before.paidTo }
  if (!wish.money)
    return { order, kind: 'escalate', why: 'something is broken, but the mail does not say what should happen' }

  const refund: Verdict = {
    order,
    kind: 'refund',
    amount,
    cause: causeOf(order, wish),
    items: (meant.length === 0 ? order.items : meant).map(({ name }) => name),
  }
  switch (order.status) {
    case 'processing':
    case 'returned':
      return refund
    case 'shipped':
      return wish.status ? statusOf(order, now) : { order, kind: 'on-its-way' }
    case 'cancelled':
      return { order, kind: 'escalate', why: 'it was cancelled, but its money was not given back' }
    case 'delivered': {
      const days = Math.floor((now - Date.parse(order.delivered ?? order.placed)) / day)
      const limit = wish.damaged ? rules.warrantyDays : rules.returnDays
      if (limit === undefined) return { order, kind: 'escalate', why: 'I could not find the rule for it' }
      return days <= limit ? refund : { order, kind: 'too-late', days, limit }
    }
  }
}

function causeOf({ status }: KnownOrder, { damaged }: Wish): Cause {
  if (status === 'processing') return 'cancelled'
  if (status === 'returned') return 'undelivered'
  return damaged ? 'faulty' : 'return'
}

function statusOf(order: KnownOrder, now: number): Verdict {
  const late =
    order.status === 'shipped' && order.due !== undefined ? Math.floor((now - Date.parse(order.due)) / day) : 0
  return { order, kind: 'status', daysLate: Math.max(0, late) }
}

function sum(items: readonly KnownOrder['items'][number][]): number {
  return items.reduce((cents, { quantity, price }) => cents + quantity * Math.round(price * 100), 0) / 100
}

function mailTime({ date }: KnownMail): number {
  const time = Date.parse(date ?? '')
  return Number.isNaN(time) ? Date.now() : time
}
