import { createInterface } from 'node:readline/promises'

import type { OnApproval } from 'provost'

import { oneLine } from './terminal.ts'

/**
 * Asks whoever sits at the terminal. Who does not say yes or no decides later: the run is suspended.
 *
 * @param signal ends the question, as Ctrl-C does.
 */
export function askAtTerminal(signal: AbortSignal): OnApproval {
  return async ({ toolName, reason }) => {
    const terminal = createInterface({ input: process.stdin, output: process.stdout })
    // While a line is being read, Ctrl-C comes to its reader.
    terminal.once('SIGINT', () => process.kill(process.pid, 'SIGINT'))
    try {
      const question = `  ${oneLine(toolName, 40)}: ${oneLine(reason, 160)}. Yes, no or later? `
      // Ctrl-D is no answer either.
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
