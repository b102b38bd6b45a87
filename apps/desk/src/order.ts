// Amounts are in euros here, as people and models write them; the database counts cents.

export interface Customer {
  readonly id: string
  readonly name: string
  readonly email: string
  readonly city: string
}
export type OrderStatus = 'processing' | 'shipped' | 'delivered' | 'returned' | 'cancelled'
export interface Item {
  readonly name: string
  readonly quantity: number
  /** Of one item. */
  readonly price: number
}
export interface Refund {
  readonly amount: number
  readonly paidTo: string
  readonly reason: string
  /** A date. */
  readonly on: string
}
export interface Order {
  readonly id: number
  readonly customerId: string
  readonly placed: string
  readonly status: OrderStatus
  readonly carrier?: string
  readonly tracking?: string
  readonly shipped?: string
  /** The day the carrier promised. */
  readonly due?: string
  readonly delivered?: string
  readonly paidWith: string
  readonly paid: number
  readonly items: readonly Item[]
  readonly refunds: readonly Refund[]
}
export interface RefundRequest {
  readonly orderId: number
  readonly amount: number
  readonly reason: string
  /** The account for the refund; default: the original payment method. */
  readonly payTo?: string | undefined
  readonly mailKey: string
  /** The same key is paid only once. */
  readonly idempotencyKey: string
}
export interface PaidRefund extends Refund {
  readonly orderId: number
  /** The unrefunded part of the payment. */
  readonly remaining: number
}
/** Outcomes of a mail. */
export const outcomes: readonly ['answered', 'refunded', 'waiting', 'escalated'] = [
  'answered',
  'refunded',
  'waiting',
  'escalated',
]
export type Outcome = (typeof outcomes)[number]
export interface Ticket {
  readonly mail: string
  readonly outcome: Outcome
  readonly note: string
}

/** The part of an order's payment that was not refunded. */
export function remainingOf(order: Pick<Order, 'paid' | 'refunds'>): number {
  return (cents(order.paid) - order.refunds.reduce((sum, refund) => sum + cents(refund.amount), 0)) / 100
}

/** Formats an amount: `49.90 EUR`. */
export function money(amount: number): string {
  return `${amount.toFixed(2)} EUR`
}

/** Converts euros to cents. */
export function cents(amount: number): number {
  return Math.round(amount * 100)
}
