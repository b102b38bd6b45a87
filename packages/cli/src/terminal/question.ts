import process from 'node:process'
import { createInterface } from 'node:readline/promises'

import type { OnApproval } from '@provost/core'
import { questionText } from '@provost/core'

import type { Terminal } from '../command/terminal.ts'
import { labelText } from './event-lines.ts'

/**
 * Returns a handler that asks the person at the terminal. Only the words `yes` and `no` decide; any other answer leaves
 * the call waiting. Keys that were typed before the question are not an answer.
 *
 * @param by who decides, as the log records it.
 * @param signal ends the question.
 */
export function askAtTerminal({ yellow, note }: Terminal, by: string, signal: AbortSignal): OnApproval {
  let last: Promise<unknown> = Promise.resolve()
  return (approval) => {
    const asked = last.then(async () => {
      note(yellow(`? ${questionText(approval)}${labelText(approval.label)}`))
      const answer = await typed('  Approve? yes, no or later: ', signal)
      if (answer === 'yes') return { decision: 'approve' as const, by }
      return answer === 'no' ? { decision: 'deny' as const, by } : undefined
    })
    // One question at a time.
    last = asked.catch(() => undefined)
    return asked
  }
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
