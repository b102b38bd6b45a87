import { appendFileSync, existsSync, readFileSync } from 'node:fs'

import { effectServer } from '@provost/testing'
import { ProvostError, z } from 'provost'

import { money, type PaidRefund } from './order.ts'

/** The bank that pays refunds. */
export interface Bank {
  /** Pays. @throws when the reply is lost */
  pay(key: string, refund: PaidRefund): Promise<void>
  /** Returns the refund that was paid for a key. Absent: the bank cannot be asked, so a human has to find out. */
  readonly find?: (key: string) => Promise<PaidRefund | undefined>
  /** Counts a question to a human about a payment. */
  asked(): void
  /** The payments that the bank really made. */
  payments(): readonly string[]
  /** What really happened, in all processes of the desk. */
  statement(): string
  close(): Promise<void>
}

/** How a bank is opened: one of an earlier start loses no further reply. */
export type BankKind = 'lookup' | 'ask' | 'known'

const counts = { requests: 0, lost: 0, lookups: 0, questions: 0 }
const line = z.discriminatedUnion('type', [
  z.object({ type: z.literal('opened'), answers: z.boolean() }),
  z.object({ type: z.literal('counted'), what: z.enum(['requests', 'lost', 'lookups', 'questions']) }),
  z.object({ type: z.literal('paid'), key: z.string(), refund: z.custom<PaidRefund>() }),
])
type Line = z.output<typeof line>

/**
 * Opens a bank on this machine that pays the first refund and loses its reply. Its books are a file, so that they outlive
 * the desk.
 *
 * @returns undefined for the bank of an earlier start if there was none.
 */
export async function openBank(file: string, kind: BankKind): Promise<Bank | undefined> {
  if (kind === 'known' && !existsSync(file)) return undefined
  const known = existsSync(file) ? linesIn(file) : []
  const lines: Line[] = [...known]
  function write(entry: Line): void {
    lines.push(entry)
    appendFileSync(file, `${JSON.stringify(entry)}\n`)
  }
  if (kind !== 'known') write({ type: 'opened', answers: kind === 'lookup' })
  const answers = lines.findLast((entry) => entry.type === 'opened')?.answers === true
  const server = await effectServer({ knowsKeys: false })

  function post(key: string, { orderId, amount }: PaidRefund): Promise<Response> {
    const body = JSON.stringify({ order: orderId, amount })
    return fetch(`${server.url}/effects`, { method: 'POST', headers: { 'idempotency-key': key }, body })
  }
  for (const entry of known) if (entry.type === 'paid') await post(entry.key, entry.refund)
  if (kind !== 'known')
    server.fail(...known.flatMap((entry) => (entry.type === 'paid' ? [undefined] : [])), 'lose-reply')

  async function find(key: string): Promise<PaidRefund | undefined> {
    write({ type: 'counted', what: 'lookups' })
    const { ok } = await fetch(`${server.url}/effects/${key}`)
    return lines.flatMap((entry) => (ok && entry.type === 'paid' && entry.key === key ? [entry.refund] : []))[0]
  }
  return {
    async pay(key, refund) {
      write({ type: 'counted', what: 'requests' })
      const paid = server.effects.length
      try {
        const { ok, status } = await post(key, refund)
        if (!ok) throw new ProvostError('outcome-unknown', `The bank answered with status ${status}.`)
      } catch (cause) {
        write({ type: 'counted', what: 'lost' })
        throw new ProvostError('outcome-unknown', 'The reply of the bank was lost.', { cause })
      } finally {
        if (server.effects.length > paid) write({ type: 'paid', key, refund })
      }
    },
    ...(answers && { find }),
    asked: () => write({ type: 'counted', what: 'questions' }),
    payments: () => paymentsIn(lines),
    statement() {
      const { requests, lost, lookups, questions } = lines.reduce(
        (sum, entry) => (entry.type === 'counted' ? { ...sum, [entry.what]: sum[entry.what] + 1 } : sum),
        counts,
      )
      const payments = paymentsIn(lines)
      const said = [
        plural(requests, 'request', 'requests'),
        plural(lost, 'reply lost', 'replies lost'),
        plural(lookups, 'lookup', 'lookups'),
        plural(questions, 'question', 'questions'),
        plural(payments.length, 'payment', 'payments'),
      ]
      return `  bank      ${said.join(', ')}\n${payments.map((one) => `            ${one}\n`).join('')}`
    },
    close: () => server.close(),
  }
}

function linesIn(file: string): readonly Line[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .flatMap((text) => (text === '' ? [] : [line.parse(JSON.parse(text))]))
}

function paymentsIn(lines: readonly Line[]): readonly string[] {
  return lines.flatMap((entry) =>
    entry.type === 'paid' ? [`${money(entry.refund.amount)} for order ${entry.refund.orderId}`] : [],
  )
}

function plural(n: number, one: string, many: string): string {
  return `${n} ${n === 1 ? one : many}`
}
