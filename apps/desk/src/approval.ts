import { createInterface } from 'node:readline/promises'

import type { OnApproval, PendingApproval, PendingUncertain } from 'provost'

import { inputText, oneLine } from './terminal.ts'
import { discardKeys } from './typed-keys.ts'

/**
 * Asks the person at the terminal. Later suspends the run for a later decision, and so do no answer and Ctrl-D; other words
 * are asked about again. Keys typed before the question appeared are discarded.
 *
 * @param signal ends the question, as Ctrl-C does.
 */
export function askAtTerminal(signal: AbortSignal): OnApproval {
  return async (approval) => {
    const question = `${oneLine(approval.toolName, 40)}: ${oneLine(approval.reason, 160)}.`
    const yes = await yesOrNo(subjectOf(approval), question, signal)
    return yes === undefined ? undefined : { decision: yes ? 'approve' : 'deny', by: 'the terminal' }
  }
}

/** Finds out whether a call of unknown outcome took place; undefined leaves it open. */
export type OnUncertain = (call: PendingUncertain) => Promise<boolean | undefined>

/**
 * Asks the person at the terminal whether a call took place. Later leaves it open.
 *
 * @param payments what the person sees at the bank.
 */
export function askWhetherDone(signal: AbortSignal, payments: () => readonly string[]): OnUncertain {
  return ({ toolName, input }) => {
    const made = payments()
    const subject = [
      `  It is unknown whether this call took place: ${oneLine(toolName, 40)} ${oneLine(inputText(input), 300)}`,
      `  The statement of the bank shows ${made.length === 0 ? 'no payment' : oneLine(made.join(', '), 300)}.`,
    ]
    return yesOrNo(`${subject.join('\n')}\n`, 'Did it take place?', signal)
  }
}

/** Returns undefined for an answer that is later. */
async function yesOrNo(subject: string, question: string, signal: AbortSignal): Promise<boolean | undefined> {
  const interrupt = (): void => void process.kill(process.pid, 'SIGINT')
  if (!(await discardKeys(process.stdin, interrupt))) {
    process.stdout.write('  Keys are still being typed, so the question is skipped. Decide later.\n')
    return undefined
  }
  if (signal.aborted) return undefined
  const terminal = createInterface({ input: process.stdin, output: process.stdout })
  // While the terminal reads a line, it receives Ctrl-C.
  terminal.once('SIGINT', interrupt)
  try {
    process.stdout.write(subject)
    // Ctrl-D is not an answer.
    const ask = async (prompt: string): Promise<string> => {
      const said = await terminal.question(prompt, { signal }).catch((error: unknown) => {
        if (!(error instanceof Error && error.name === 'AbortError')) throw error
        process.stdout.write('\n')
        return 'later'
      })
      return said.trim().toLowerCase()
    }
    let answer = await ask(`  ${question} Yes, no or later? `)
    while (!/^(y(es)?|no?|l(ater)?)?$/.test(answer)) {
      answer = await ask(`  ${JSON.stringify(oneLine(answer, 40))} is no answer. Yes, no or later? `)
    }
    return answer.startsWith('y') ? true : answer.startsWith('n') ? false : undefined
  } finally {
    terminal.close()
  }
}

/** Returns the subject of the question and its warnings. */
function subjectOf({ effect, input, label, warnings = [] }: PendingApproval): string {
  const from =
    label.integrity === 'untrusted' ? `, written from untrusted ${oneLine(label.sources.join(', '), 80)}` : ''
  const lines = [
    `  ${effect}${from}: ${oneLine(inputText(input), 300)}`,
    ...warnings.map(({ path, text }) => `  ! ${oneLine(path, 60)} ${oneLine(text, 300)}`),
  ]
  return `${lines.join('\n')}\n`
}
