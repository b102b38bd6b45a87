import { money } from './order.ts'
import type { Tally } from './tally.ts'
import { neutralise, oneLine, type Palette } from './terminal.ts'

/** The closing lines: actions, destinations, failures, usage. */
export function summaryOf(tally: Tally, { bold, dim, red, yellow }: Palette, outbox: string, command: string): string {
  const { handled, failed, waiting, written, paid, refused } = tally
  const replies = written.filter(({ kind }) => kind === 'reply')
  const forwards = written.filter(({ kind }) => kind === 'forward')
  const total = paid.reduce((sum, { amount }) => sum + Math.round(amount * 100), 0) / 100
  const mails = handled.length + failed.length + waiting.length

  // Names, addresses and reasons come from mails: neutralise first, then colour.
  const row = (name: string, text: string, paint: (text: string) => string = (same) => same): string =>
    `  ${name.padEnd(9)} ${paint(neutralise(text))}`
  const watch = (text: string): string => row('', `! ${text}`, yellow)
  return [
    bold('Summary'),
    row(
      'mails',
      `${mails}: ${handled.length} handled, ${failed.length} not${waiting.length > 0 ? `, ${waiting.length} waiting` : ''}`,
    ),
    ...failed.flatMap(({ mail, reason, session }) => [
      row('', `✗ ${mail}: ${oneLine(reason, 160)}`, red),
      ...(session === undefined ? [] : [row('', `${command} --resume ${session}`)]),
    ]),
    ...waiting.flatMap(({ mail, session, reasons, ways }) => [
      row('', `? ${mail}: ${oneLine(reasons.join('; '), 160)}`, yellow),
      ...ways.map((way) => row('', `${command} --${way} ${session}`)),
    ]),
    row('replies', replies.length === 0 ? 'none' : `${replies.length} drafted`),
    ...replies
      .filter(({ elsewhere }) => elsewhere)
      .map(({ mail, to }) => watch(`to ${to}, who is not the sender (${mail})`)),
    row('refunds', paid.length === 0 ? 'none' : `${paid.length}, total ${money(total)}`),
    ...paid.map(({ orderId, amount, paidTo, elsewhere, mail }) => {
      const line = `${money(amount)} on order ${orderId} to ${paidTo}`
      return elsewhere ? watch(`${line}, not the way it was paid (${mail})`) : row('', line, dim)
    }),
    row('forwards', forwards.length === 0 ? 'none' : String(forwards.length)),
    ...forwards.map(({ to, mail }) => watch(`to ${to} (${mail})`)),
    row('refused', refused.length === 0 ? 'none' : `${refused.length} tool ${refused.length === 1 ? 'call' : 'calls'}`),
    ...refused.map(({ tool, reason, mail }) => row('', `${tool}: ${oneLine(reason, 90)} (${mail})`, dim)),
    row('tokens', `${count(tally.inputTokens)} in, ${count(tally.outputTokens)} out`),
    row('cost', costOf(tally.cost)),
    row('outbox', outbox),
    '',
  ].join('\n')
}

/** Formats US dollars to the hundredth of a cent; `unpriced` when the price is unknown. */
export function costOf(cost: number | undefined): string {
  return cost === undefined ? 'unpriced' : `$${cost.toFixed(4)}`
}

/** Formats 12345 as `12,345`. */
export function count(n: number): string {
  return n.toLocaleString('en-US')
}
