import process from 'node:process'
import { createInterface } from 'node:readline/promises'

import type { OnApproval, OnBatch } from '@provost/core'
import { questionText } from '@provost/core'

import type { Terminal } from '../command/terminal.ts'
import { labelText } from './event-lines.ts'

/**
 * Returns handlers that ask the person at the terminal about one call, and about all calls that a step asks about together.
 * Only the words `yes` and `no` decide; for several calls also the numbers of those to deny. Any other answer leaves the
 * calls waiting. Keys that were typed before the question are not an answer.
 *
 * @param by who decides, as the log records it.
 * @param signal ends the question.
 */
export function askAtTerminal(
  { yellow, note }: Terminal,
  by: string,
  signal: AbortSignal,
): { readonly onApproval: OnApproval; readonly onBatch: OnBatch } {
  let last: Promise<unknown> = Promise.resolve()
  /** One question at a time. */
  const inTurn = <T>(ask: () => Promise<T>): Promise<T> => {
    const asked = last.then(ask)
    last = asked.catch(() => undefined)
    return asked
  }
  const onApproval: OnApproval = (approval) =>
    inTurn(async () => {
      note(yellow(`? ${questionText(approval)}${labelText(approval.label)}`))
      const answer = await typed('  Approve? yes, no or later: ', signal)
      if (answer === 'yes') return { decision: 'approve', by }
      return answer === 'no' ? { decision: 'deny', by } : undefined
    })
  const onBatch: OnBatch = (rows) =>
    inTurn(async () => {
      for (const [index, row] of rows.entries())
        note(yellow(`? ${index + 1}. ${questionText(row)}${labelText(row.label)}`))
      const answer = await typed(
        `  Approve all ${rows.length}? yes, no, later, or no with the numbers to deny, such as no 2: `,
        signal,
      )
      if (answer === 'yes') return { decision: 'approve', by }
      if (answer === 'no') return { decision: 'deny', by }
      const except = deniedRows(answer, rows)
      return except && { decision: 'approve', by, except }
    })
  return { onApproval, onBatch }
}

/** Returns the ids of the rows that an answer such as `no 2 3` denies; undefined for any other answer. */
function deniedRows(answer: string, rows: readonly { readonly id: string }[]): readonly string[] | undefined {
  const [word, ...numbers] = answer.split(/[\s,]+/)
  if (word !== 'no') return undefined
  const ids = numbers.flatMap((number) => (/^[1-9]\d{0,5}$/.test(number) ? (rows[Number(number) - 1]?.id ?? []) : []))
  return ids.length === numbers.length ? ids : undefined
}

async function typed(question: string, signal: AbortSignal): Promise<string> {
  if (signal.aborted) return ''
  discardKeys()
  const input = createInterface({ input: process.stdin, output: process.stderr })
  // While it reads a line, it receives Ctrl-C.
  input.once('SIGINT', () => process.kill(process.pid, 'SIGINT'))
  try {
    return (await input.question(question, { signal })).trim().toLowerCase()
  } catch {
    return ''
  } finally {
    input.close()
  }
}

/** Discards what waits in the buffer of stdin. */
function discardKeys(): void {
  while (process.stdin.read() !== null);
}
