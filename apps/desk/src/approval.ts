import { createInterface } from 'node:readline/promises'

import type { OnApproval, PendingApproval } from 'provost'

import { oneLine, printableJson } from './terminal.ts'
import { discardKeys } from './typed-keys.ts'

/**
 * Asks the person at the terminal. Any answer other than yes or no suspends the run for a later decision. Keys typed
 * before the question appeared are discarded.
 *
 * @param signal ends the question, as Ctrl-C does.
 */
export function askAtTerminal(signal: AbortSignal): OnApproval {
  const interrupt = (): void => void process.kill(process.pid, 'SIGINT')
  return async (approval) => {
    if (!(await discardKeys(process.stdin, interrupt))) {
      process.stdout.write('  Keys are still being typed, so the question is skipped. Decide later.\n')
      return undefined
    }
    if (signal.aborted) return undefined
    const terminal = createInterface({ input: process.stdin, output: process.stdout })
    // While the terminal reads a line, it receives Ctrl-C.
    terminal.once('SIGINT', interrupt)
    try {
      process.stdout.write(subjectOf(approval))
      const question = `  ${oneLine(approval.toolName, 40)}: ${oneLine(approval.reason, 160)}. Yes, no or later? `
      // Ctrl-D is not an answer.
      const said = await terminal.question(question, { signal }).catch((error: unknown) => {
        if (signal.aborted || !(error instanceof Error && error.name === 'AbortError')) throw error
        process.stdout.write('\n')
        return 'later'
      })
      const answer = said.trim().toLowerCase()
      const decision = /^y(es)?$/.test(answer) ? 'approve' : /^no?$/.test(answer) ? 'deny' : undefined
      return decision && { decision, by: 'the terminal' }
    } finally {
      terminal.close()
    }
  }
}

/** Returns the subject of the question and its warnings. */
function subjectOf({ effect, input, label, warnings = [] }: PendingApproval): string {
  const given = typeof input === 'object' && input !== null ? printableJson(input) : String(input)
  const from =
    label.integrity === 'untrusted' ? `, written from untrusted ${oneLine(label.sources.join(', '), 80)}` : ''
  const lines = [
    `  ${effect}${from}: ${oneLine(given, 300)}`,
    ...warnings.map(({ path, text }) => `  ! ${oneLine(path, 60)} ${oneLine(text, 300)}`),
  ]
  return `${lines.join('\n')}\n`
}
