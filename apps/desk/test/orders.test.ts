import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { expect, test } from 'vitest'

import { openDatabase } from '../src/database.ts'
import type { RefundRequest } from '../src/order.ts'
import { createOrders, type Orders } from '../src/orders.ts'

const fresh = (): Orders => createOrders(openDatabase(':memory:'))
const request = (more: Partial<RefundRequest> = {}): RefundRequest => ({
  orderId: 1042,
  amount: 39,
  reason: 'faulty',
  mailKey: '<m1@example.org>',
  idempotencyKey: 'k1',
  ...more,
})

test('customers are found by address in any case, by id and by part of the name', () => {
  const orders = fresh()
  expect(orders.findCustomers('MARA.feldkamp@example.org').map(({ id }) => id)).toEqual(['c-101'])
  expect(orders.findCustomers('c-102').map(({ name }) => name)).toEqual(['Jörg Weißmüller'])
  expect(orders.findCustomers('garance').map(({ id }) => id)).toEqual(['c-103'])
  expect(orders.findCustomers('*')).toHaveLength(13)
  for (const query of ['%', '_', '', "' OR 1=1 --", 'unknown@example.org'])
    expect(orders.findCustomers(query)).toEqual([])
})

test('an order has its parcel, items and refunds', () => {
  expect(fresh().orderById(1049)).toEqual({
    id: 1049,
    customerId: 'c-110',
    placed: '2026-09-24',
    status: 'returned',
    carrier: 'Swiftparcel',
    tracking: 'SP-4911-6125',
    shipped: '2026-09-26',
    due: '2026-09-30',
    delivered: '2026-09-30',
    paidWith: 'card ending 5189',
    paid: 29.5,
    items: [{ name: 'Pepper mill', quantity: 1, price: 29.5 }],
    refunds: [{ amount: 29.5, paidTo: 'card ending 5189', reason: 'returned, does not grind', on: '2026-10-19' }],
  })
})

test('a refund uses the original payment method or the named account', () => {
  const orders = fresh()
  expect(orders.refund(request())).toMatchObject({ orderId: 1042, amount: 39, paidTo: 'bank transfer', remaining: 88 })
  expect(orders.refund(request({ orderId: 1056, amount: 33.3, idempotencyKey: 'k2', payTo: 'XX00' }))).toMatchObject({
    paidTo: 'XX00',
    remaining: 0,
  })
})

test('refunds never exceed the payment, also in parts', () => {
  const orders = fresh()
  expect(() => orders.refund(request({ amount: 127.01 }))).toThrow('127.01 EUR is more than the 127.00 EUR left')
  orders.refund(request({ amount: 100.1 }))
  const rest = request({ mailKey: '<m2@example.org>', idempotencyKey: 'k2' })
  expect(() => orders.refund({ ...rest, amount: 26.91 })).toThrow('more than the 26.90 EUR left')
  expect(orders.refund({ ...rest, amount: 26.9 }).remaining).toBe(0)
  expect(() => orders.refund(request({ amount: 0.01, mailKey: '<m3@example.org>', idempotencyKey: 'k3' }))).toThrow(
    'All 127.00 EUR of order 1042 were refunded before',
  )
})

test('the same mail is refunded once per order', () => {
  const orders = fresh()
  orders.refund(request())
  expect(() => orders.refund(request({ idempotencyKey: 'k2' }))).toThrow('Order 1042 was refunded 39.00 EUR on')
  expect(orders.orderById(1042)?.refunds).toHaveLength(1)
})

test('the same idempotency key pays once and gives the same receipt', () => {
  const orders = fresh()
  const receipt = orders.refund(request())
  expect(orders.refund(request())).toEqual(receipt)
  expect(orders.orderById(1042)?.refunds).toHaveLength(1)
})

test.each([0, -1, 0.001, 1.005, Number.NaN, Number.POSITIVE_INFINITY])('%d is not an amount', (amount) => {
  expect(() => fresh().refund(request({ amount }))).toThrow('is not an amount')
})

test('an unknown order is named in the error', () => {
  expect(() => fresh().refund(request({ orderId: 7 }))).toThrow('There is no order 7')
})

test('refunding an order that is not shipped cancels it', () => {
  const orders = fresh()
  orders.refund(request({ orderId: 1048, amount: 76 }))
  expect(orders.orderById(1048)?.status).toBe('cancelled')
})

test('a second start reads the data of the first', () => {
  const path = join(mkdtempSync(join(tmpdir(), 'desk-')), 'new', 'desk.sqlite')
  const first = createOrders(openDatabase(path))
  first.refund(request())
  first.closeTicket('<m1@example.org>', { mail: 'a.eml', outcome: 'refunded', note: 'n' })
  first.close()
  const second = createOrders(openDatabase(path))
  expect(second.orderById(1042)?.refunds).toHaveLength(1)
  expect(second.ticketOf('<m1@example.org>')).toEqual({ mail: 'a.eml', outcome: 'refunded', note: 'n' })
  second.close()
})

test('a file that is not a desk database is rejected', () => {
  const path = join(mkdtempSync(join(tmpdir(), 'desk-')), 'desk.sqlite')
  writeFileSync(path, 'not a database, but quite long enough to look at '.repeat(50))
  expect(() => openDatabase(path)).toThrow(`The data at ${path} cannot be used`)
})
