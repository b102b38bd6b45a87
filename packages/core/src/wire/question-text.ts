import type { PendingApproval } from '../log/pending.ts'
import { displayText } from '../text/display-text.ts'
import { checkArguments } from '../values/argument.ts'

/** Characters of a question that are shown. */
const shownInput = 1_000
const shownReason = 500

/**
 * Returns a question as one line for a person: the tool, its effect, the reason, the arguments and the warnings, safe to
 * print and bounded.
 */
export function questionText(question: PendingApproval): string {
  checkArguments('questionText', [question], ['object'])
  const { toolName, effect, input } = question
  const about = toolName === '' ? 'The answer' : `${displayText(toolName, { limit: 128 })} (${effect})`
  const shownArgs = input === null ? '' : ` Input: ${displayText(input, { limit: shownInput })}`
  return `${about}: ${reasonText(question)}.${shownArgs}`.replace(/\.\.(?= |$)/u, '.')
}

/** Returns the reason of a question with its warnings, safe to print and bounded. */
export function reasonText({ reason, warnings = [] }: Pick<PendingApproval, 'reason' | 'warnings'>): string {
  const said = displayText(reason, { limit: shownReason })
  return [
    said,
    ...warnings.map(({ path, text }) => `Warning: ${displayText(path, { limit: 200 })} ${displayText(text)}`),
  ].join('. ')
}
