import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

import { DeskError, reasonOf } from './fault.ts'
import { seed, type SeedOrder } from './seed.ts'

/** Amounts are in cents. */
const schema = `
  CREATE TABLE customers (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, email TEXT NOT NULL UNIQUE COLLATE NOCASE, city TEXT NOT NULL
  ) STRICT;
  CREATE TABLE orders (
    id INTEGER PRIMARY KEY, customer_id TEXT NOT NULL REFERENCES customers, placed TEXT NOT NULL, status TEXT NOT NULL,
    carrier TEXT, tracking TEXT, shipped TEXT, due TEXT, delivered TEXT, paid_with TEXT NOT NULL, paid INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX orders_of_customer ON orders (customer_id);
  CREATE TABLE items (
    order_id INTEGER NOT NULL REFERENCES orders, position INTEGER NOT NULL, name TEXT NOT NULL, quantity INTEGER NOT NULL,
    price INTEGER NOT NULL, PRIMARY KEY (order_id, position)
  ) STRICT;
  CREATE TABLE refunds (
    id INTEGER PRIMARY KEY AUTOINCREMENT, order_id INTEGER NOT NULL REFERENCES orders, amount INTEGER NOT NULL CHECK (amount > 0),
    paid_to TEXT NOT NULL, reason TEXT NOT NULL, mail_key TEXT NOT NULL, idempotency_key TEXT NOT NULL UNIQUE, at TEXT NOT NULL,
    UNIQUE (order_id, mail_key)
  ) STRICT;
  CREATE TABLE tickets (
    mail_key TEXT PRIMARY KEY, mail TEXT NOT NULL, outcome TEXT NOT NULL, note TEXT NOT NULL, at TEXT NOT NULL
  ) STRICT;
  PRAGMA user_version = 1;
`

/**
 * Opens the shop's database. A new file gets the tables and the sample data.
 *
 * @throws DeskError of kind `usage` when the file is not a database, or belongs to another program.
 */
export function openDatabase(path: string): DatabaseSync {
  let db: DatabaseSync | undefined
  try {
    mkdirSync(dirname(path), { recursive: true })
    db = new DatabaseSync(path)
    db.exec('PRAGMA journal_mode = WAL; PRAGMA foreign_keys = ON; PRAGMA busy_timeout = 5000')
    prepare(db)
    return db
  } catch (cause) {
    db?.close()
    const reason = cause instanceof DeskError ? cause.message : reasonOf(cause)
    throw new DeskError('usage', `The data at ${path} cannot be used: ${reason}. Choose another folder with --data.`, {
      cause,
    })
  }
}

function prepare(db: DatabaseSync): void {
  // One transaction, so that a second desk that starts at the same time waits and finds the data complete.
  db.exec('BEGIN IMMEDIATE')
  try {
    const version = db.prepare('PRAGMA user_version').get()?.['user_version']
    const tables = db.prepare("SELECT count(*) AS n FROM sqlite_schema WHERE type = 'table'").get()?.['n']
    if (version === 0 && tables === 0) {
      db.exec(schema)
      fill(db)
    } else if (version !== 1) throw new DeskError('usage', 'it is not a database of the desk')
    db.exec('COMMIT')
  } catch (error) {
    db.exec('ROLLBACK')
    throw error
  }
}

function fill(db: DatabaseSync): void {
  const customer = db.prepare('INSERT INTO customers (id, name, email, city) VALUES (?, ?, ?, ?)')
  for (const { id, name, email, city } of seed.customers) customer.run(id, name, email, city)
  for (const order of seed.orders) addOrder(db, order)
}

function addOrder(db: DatabaseSync, order: SeedOrder): void {
  const { id, parcel, refund } = order
  const paid = order.items.reduce((sum, [, quantity, cents]) => sum + quantity * cents, 0)
  db.prepare('INSERT INTO orders VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)').run(
    id,
    order.customer,
    order.placed,
    order.status,
    parcel?.carrier ?? null,
    parcel?.tracking ?? null,
    parcel?.shipped ?? null,
    parcel?.due ?? null,
    order.delivered ?? null,
    order.paidWith,
    paid,
  )
  for (const [position, [name, quantity, cents]] of order.items.entries())
    db.prepare('INSERT INTO items VALUES (?, ?, ?, ?, ?)').run(id, position, name, quantity, cents)
  if (refund)
    db.prepare(
      'INSERT INTO refunds (order_id, amount, paid_to, reason, mail_key, idempotency_key, at) VALUES (?, ?, ?, ?, ?, ?, ?)',
    ).run(id, refund.cents, order.paidWith, refund.reason, 'seed', `seed-${id}`, refund.on)
}
