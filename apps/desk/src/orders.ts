import type { DatabaseSync, SQLInputValue, SQLOutputValue } from 'node:sqlite'

import { ProvostError } from 'provost'

import {
  cents,
  type Customer,
  money,
  type Order,
  type OrderStatus,
  type Outcome,
  outcomes,
  type PaidRefund,
  type Refund,
  type RefundRequest,
  remainingOf,
  type Ticket,
} from './order.ts'

/** The shop's books. */
export interface Orders {
  /** Finds customers by id, e-mail address or a part of the name; `*` returns all. At most 100. */
  findCustomers(query: string): readonly Customer[]
  orderById(orderId: number): Order | undefined
  ordersOf(customerId: string): readonly Order[]
  /**
   * Records a refund.
   *
   * @throws ProvostError `no-such-order`, `bad-amount`, `already-refunded` (for this mail, or the order in full),
   * `refund-too-high` (above the unrefunded part).
   */
  refund(request: RefundRequest): PaidRefund
  closeTicket(mailKey: string, ticket: Ticket): void
  ticketOf(mailKey: string): Ticket | undefined
  close(): void
}

type Row = Record<string, SQLOutputValue>

export function createOrders(db: DatabaseSync): Orders {
  const all = (sql: string, ...values: SQLInputValue[]): Row[] => db.prepare(sql).all(...values)
  const orderFrom = (row: Row): Order => ({
    id: Number(row['id']),
    customerId: String(row['customer_id']),
    placed: String(row['placed']),
    status: statusFrom(row['status']),
    ...optional(row, 'carrier', 'tracking', 'shipped', 'due', 'delivered'),
    paidWith: String(row['paid_with']),
    paid: euros(row['paid']),
    items: all('SELECT * FROM items WHERE order_id = ? ORDER BY position', row['id'] ?? null).map((item) => ({
      name: String(item['name']),
      quantity: Number(item['quantity']),
      price: euros(item['price']),
    })),
    refunds: all('SELECT * FROM refunds WHERE order_id = ? ORDER BY id', row['id'] ?? null).map(refundFrom),
  })
  const paidRefund = (row: Row): PaidRefund => {
    const order = all('SELECT paid FROM orders WHERE id = ?', row['order_id'] ?? null)[0]
    const refunded = all('SELECT total(amount) AS sum FROM refunds WHERE order_id = ?', row['order_id'] ?? null)[0]
    return {
      ...refundFrom(row),
      orderId: Number(row['order_id']),
      remaining: (Number(order?.['paid']) - Number(refunded?.['sum'])) / 100,
    }
  }
  const paidWithKey = (key: string): PaidRefund | undefined =>
    all('SELECT * FROM refunds WHERE idempotency_key = ?', key).map(paidRefund)[0]

  return {
    findCustomers(query) {
      const text = query.trim()
      const like = `%${text.replace(/[\\%_]/g, '\\$&')}%`
      const rows =
        text === '*'
          ? all('SELECT * FROM customers ORDER BY id LIMIT 100')
          : all(
              `SELECT * FROM customers WHERE id = ? OR email = ? OR name LIKE ? ESCAPE '\\' ORDER BY id LIMIT 100`,
              text,
              text,
              like,
            )
      return text === '' ? [] : rows.map(customerFrom)
    },
    orderById: (orderId) => all('SELECT * FROM orders WHERE id = ?', orderId).map(orderFrom)[0],
    ordersOf: (customerId) => all('SELECT * FROM orders WHERE customer_id = ? ORDER BY id', customerId).map(orderFrom),
    refund(request) {
      const { orderId, mailKey, idempotencyKey } = request
      db.exec('BEGIN IMMEDIATE')
      try {
        const before = paidWithKey(idempotencyKey)
        if (!before) {
          const order = all('SELECT * FROM orders WHERE id = ?', orderId).map(orderFrom)[0]
          if (!order)
            throw new ProvostError('no-such-order', `There is no order ${orderId}.`, {
              hint: 'Look it up with find_orders.',
            })
          const sameMail = all('SELECT * FROM refunds WHERE order_id = ? AND mail_key = ?', orderId, mailKey).map(
            refundFrom,
          )[0]
          checkRefund(order, request, sameMail)
          db.prepare(
            'INSERT INTO refunds (order_id, amount, paid_to, reason, mail_key, idempotency_key, at) VALUES (?, ?, ?, ?, ?, ?, ?)',
          ).run(
            orderId,
            cents(request.amount),
            request.payTo ?? order.paidWith,
            request.reason,
            mailKey,
            idempotencyKey,
            new Date().toISOString(),
          )
          if (order.status === 'processing')
            db.prepare("UPDATE orders SET status = 'cancelled' WHERE id = ?").run(orderId)
        }
        db.exec('COMMIT')
      } catch (error) {
        db.exec('ROLLBACK')
        throw error
      }
      const paid = paidWithKey(idempotencyKey)
      if (!paid) throw new ProvostError('refund-lost', `The refund on order ${orderId} was not recorded.`)
      return paid
    },
    closeTicket(mailKey, { mail, outcome, note }) {
      db.prepare('INSERT OR REPLACE INTO tickets (mail_key, mail, outcome, note, at) VALUES (?, ?, ?, ?, ?)').run(
        mailKey,
        mail,
        outcome,
        note,
        new Date().toISOString(),
      )
    },
    ticketOf(mailKey) {
      const row = all('SELECT * FROM tickets WHERE mail_key = ?', mailKey)[0]
      return row && { mail: String(row['mail']), outcome: outcomeFrom(row['outcome']), note: String(row['note']) }
    },
    close: () => db.close(),
  }
}

function checkRefund(order: Order, { amount, mailKey }: RefundRequest, sameMail: Refund | undefined): void {
  const left = remainingOf(order)
  if (!(cents(amount) > 0) || !(Math.abs(cents(amount) - amount * 100) < 1e-6))
    throw new ProvostError('bad-amount', `${amount} is not an amount in euros and cents.`, {
      hint: 'Give at least 0.01.',
    })
  if (sameMail)
    throw new ProvostError(
      'already-refunded',
      `Order ${order.id} was refunded ${money(sameMail.amount)} on ${sameMail.on} because of this mail.`,
      { hint: 'Tell the customer about that refund.' },
    )
  if (left === 0)
    throw new ProvostError('already-refunded', `All ${money(order.paid)} of order ${order.id} were refunded before.`, {
      hint: 'Tell the customer about that refund.',
    })
  if (cents(amount) > cents(left))
    throw new ProvostError(
      'refund-too-high',
      `${money(amount)} is more than the ${money(left)} left of what was paid for order ${order.id}.`,
      { hint: `Refund at most ${money(left)}.` },
    )
  if (mailKey === '') throw new ProvostError('bad-mail', 'A refund needs the mail that asks for it.')
}

const euros = (value: SQLOutputValue | undefined): number => Number(value) / 100

function customerFrom(row: Row): Customer {
  return { id: String(row['id']), name: String(row['name']), email: String(row['email']), city: String(row['city']) }
}

function refundFrom(row: Row): Refund {
  return {
    amount: euros(row['amount']),
    paidTo: String(row['paid_to']),
    reason: String(row['reason']),
    on: String(row['at']).slice(0, 10),
  }
}

function optional<K extends string>(row: Row, ...keys: readonly K[]): { [P in K]?: string } {
  const found: { [P in K]?: string } = {}
  for (const key of keys) if (typeof row[key] === 'string') found[key] = row[key]
  return found
}

const statuses: readonly OrderStatus[] = ['processing', 'shipped', 'delivered', 'returned', 'cancelled']
function statusFrom(value: unknown): OrderStatus {
  return statuses.find((status) => status === value) ?? 'processing'
}

function outcomeFrom(value: unknown): Outcome {
  return outcomes.find((outcome) => outcome === value) ?? 'answered'
}
