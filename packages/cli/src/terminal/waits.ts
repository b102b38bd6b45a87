import type { PendingWork } from '@provost/core'
import { displayText, questionText } from '@provost/core'

/** Returns the number of answers that a run waits for. */
export function waitCount({ approvals, remoteCalls, uncertain, inputs }: PendingWork): number {
  return approvals.length + remoteCalls.length + uncertain.length + inputs.length
}

/** Returns a line for each answer that a run waits for, and how to give it. */
export function waitLines(
  sessionId: string,
  { approvals, remoteCalls, uncertain, inputs }: PendingWork,
): readonly string[] {
  const session = argumentText(sessionId)
  return [
    ...approvals.flatMap((wait) => [
      `${questionText(wait)}${wait.batch === undefined ? '' : ` Batch ${displayText(wait.batch, { limit: 300 })}.`}`,
      `  provost approve ${session} ${argumentText(wait.id)}`,
      `  provost deny ${session} ${argumentText(wait.id)}`,
    ]),
    ...batchesIn(approvals).flatMap(([batch, rows]) => [
      `One decision for these ${rows.length} calls:`,
      `  provost approve ${session} ${argumentText(batch)}`,
      `  provost deny ${session} ${argumentText(batch)}`,
    ]),
    ...uncertain.flatMap(({ callId, toolName, input }) => [
      `${name(toolName)} had started when its process died: its outcome is unknown. Input: ${shown(input)}`,
      `  provost settle ${session} ${argumentText(callId)} done|retry|fail`,
    ]),
    ...inputs.map(({ toolName, message }) => `${name(toolName)} asks: ${shown(message)}`),
    ...remoteCalls.map(({ toolName, input }) => `${name(toolName)} waits for its result. Input: ${shown(input)}`),
  ]
}

/** Returns the batches with more than one open row. */
export function batchesIn(
  approvals: PendingWork['approvals'],
): readonly (readonly [batch: string, rows: PendingWork['approvals']])[] {
  const rows = approvals.filter(({ batch }) => batch !== undefined)
  return [...Map.groupBy(rows, ({ batch = '' }) => batch)].filter(([, open]) => open.length > 1)
}

/** Returns a text as one argument of a shell, safe to print and to copy. */
export function argumentText(text: string): string {
  if (/^[\w./:@%+=,][\w./:@%+=,-]*$/.test(text)) return text
  if (displayText(text) === text) return `'${text.replaceAll("'", String.raw`'\''`)}'`
  return `$'${text.slice(0, 500).replaceAll(/./gsu, escapedCharacter)}'`
}

/** Returns a character as the shells bash and zsh read it between `$'` and `'`. */
function escapedCharacter(character: string): string {
  const safe = displayText(character)
  if (safe === character) return character === '\\' || character === "'" ? `\\${character}` : character
  const code = character.codePointAt(0) ?? 0
  return code > 0xffff ? `\\U${code.toString(16).padStart(8, '0')}` : safe
}

function name(toolName: string): string {
  return displayText(toolName, { limit: 128 })
}

function shown(value: unknown): string {
  return displayText(value, { limit: 1_000 })
}
