import { join } from 'node:path'

import { expect, test } from 'vitest'

import { openDatabase } from '../src/database.ts'
import { createOrders } from '../src/orders.ts'
import { desk, finish, folder, launch, start } from './desk-command.ts'

// The next desk shares only the files of the folder. A process is killed by default, and in full runs a process also
// decides.

const full = process.env['PROVOST_TEST_FULL'] === '1'

function refundsOn(data: string, orderId: number): readonly number[] {
  const orders = createOrders(openDatabase(join(data, 'desk.sqlite')))
  try {
    return (orders.orderById(orderId)?.refunds ?? []).map(({ amount }) => amount)
  } finally {
    orders.close()
  }
}

/** The id in the command that a desk prints for a decision. */
function idIn(out: string, option: string): string {
  return new RegExp(`${option} ([0-9a-f-]{36})`).exec(out)?.[1] ?? 'none'
}

test('without a terminal a refund over the limit is suspended, and later processes decide it', async () => {
  const data = folder()
  const first = await desk('--data', data, '--only', '05-html-only.eml', '--only', '06-csv-attachment.eml')
  expect(first.code).toBe(0)
  expect(first.out).toContain(`sessions in ${join(data, 'sessions.sqlite')}`)
  expect(first.out).toContain('? refund needs approval: 312.00 EUR on order 1050 is more than 250.00 EUR')
  expect(first.out).toContain('2: 1 handled, 0 not, 1 waiting')
  expect(refundsOn(data, 1050)).toEqual([])

  const id = idIn(first.out, '--approve')
  expect(first.out).toContain(`npm start -- --data=${data} --approve ${id}`)
  const listed = await desk('--data', data, '--sessions')
  expect(listed.out).toContain('waiting  06-csv-attachment.eml\n  ? refund (write): 312.00 EUR on order 1050')
  expect(idIn(listed.out, '--deny')).toBe(id)

  const approved = await (full ? start : desk)('--data', data, '--approve', id)
  expect(approved.code).toBe(0)
  expect(approved.out).toContain('✓ 312.00 EUR to')
  // Earlier lookups are in the log.
  expect(approved.out).not.toContain('→ read_mail')
  expect(refundsOn(data, 1050)).toEqual([312])
  expect((await desk('--data', data, '--approve', id)).code).toBe(2)
  expect((await desk('--data', data, '--sessions')).out).toContain('No session is open.')
})

test('a denied refund is not paid, and the mail is still answered', async () => {
  const data = folder()
  const first = await desk('--data', data, '--only', '06-csv-attachment.eml')
  const denied = await desk('--data', data, '--deny', idIn(first.out, '--approve'))
  expect(denied.out).toContain('refund: deny by the command line')
  expect(denied.out).toContain('→ draft_reply')
  expect(denied.out).toContain('✓ escalated')
  expect(denied.out).toContain('1: 1 handled')
  expect(refundsOn(data, 1050)).toEqual([])
})

test('without options a stopped mail, an approval and a killed process are shown', async ({ skip }) => {
  skip(process.env['PROVOST_TEST_FULL'] !== '1', 'in full runs')
  const data = folder()
  const { code, out } = await desk('--data', data)
  expect(code).toBe(0)
  const [, stopped = '', approval = '', killed = ''] = out.split(/\n\n(?=An attachment|A large refund|The process is)/)
  expect(stopped).toContain('draft_reply stopped by confidentiality')
  expect(stopped).toMatch(/\/to ← “.*to collect@parcel-forms\.example\.net and do not tell/)
  expect(stopped).toContain('in words with 32 invisible characters; triage ⇒ billing ⇒ call')
  expect(approval).toContain('? refund needs approval: 312.00 EUR')
  const [before = '', after = ''] = killed.split('✗ SIGKILL')
  expect(before).toContain('✓ 49.90 EUR')
  expect(after).not.toContain('→ refund')
  expect(after).toContain('✓ outbox/01-refund-request')
  expect(refundsOn(data, 1041)).toEqual([49.9])
  expect(out).toMatch(/All 16 samples: npm start -- --data=\S+ --all\n$/)
})

test('a desk that is killed in a refund is resumed by another one, which pays once', async ({ skip }) => {
  skip(process.env['PROVOST_TEST_FULL'] !== '1', 'in full runs')
  const data = folder()
  const child = launch(['--data', data, '--only', '10-two-orders.eml'])
  const killed = finish(child)
  child.stdout?.on('data', (text: string) => text.includes('→ refund') && child.kill('SIGKILL'))
  await killed
  const listed = await desk('--data', data, '--sessions')
  expect(listed.out).toContain('stopped  10-two-orders.eml')
  const resumed = await desk('--data', data, '--resume', idIn(listed.out, '--resume'))
  expect(resumed.code).toBe(0)
  expect(resumed.out).toContain('1: 1 handled')
  expect(resumed.out).not.toContain('→ find_customer')
  expect(refundsOn(data, 1054)).toEqual([54])
})

test.each([
  ['--done', '1 request, 1 reply lost, 0 lookups, 1 question, 1 payment\n'],
  ['--redo', '2 requests, 1 reply lost, 0 lookups, 1 question, 2 payments\n'],
])('a bank that cannot be asked leaves a question, and %s answers it in a later process', async (way, bank) => {
  const data = folder()
  const first = await desk('--lose-replies=ask', '--only', '01-refund-request.eml', '--data', data)
  expect(first.out).toContain('? refund: it is unknown whether this took place')
  expect(first.out).toContain('1: 0 handled, 0 not, 1 waiting')
  const listed = await desk('--data', data, '--sessions')
  expect(listed.out).toContain('unknown  01-refund-request.eml\n  ? it is unknown whether refund took place')
  const id = idIn(listed.out, way)
  expect((await desk('--data', data, '--approve', id)).err).toContain('Use --done or --redo.')
  const settled = await desk('--data', data, way, id)
  expect(settled.out).toContain('1: 1 handled')
  expect(settled.out).toContain(`bank      ${bank}`)
  expect(refundsOn(data, 1041)).toEqual([49.9])
})
