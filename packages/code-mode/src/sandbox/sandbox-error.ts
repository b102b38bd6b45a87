import type { GuestEnd } from '../engine/bridge-frame.ts'
import { placeOf } from '../engine/script-source.ts'
import type { Limits } from '../worker/limits.ts'

/** Why a script gave no value. `message` says what to do as well: the model reads it. */
export interface SandboxError {
  /**
   * `script-error` (the script threw), `syntax-error`, `tool-error` or the code that a call failed with (and the script did not catch it),
   * `not-json`, `cpu-limit`, `wall-limit`, `fuel-limit`, `memory-limit`, `stack-limit`, `call-limit`, `argument-size`,
   * `reply-size`, `output-size`, `source-size`, `deadlock`, `aborted`, `replay-diverged`, `engine-failed`.
   */
  readonly code: string
  readonly message: string
  /** Where in the script, from 1. */
  readonly line?: number
  readonly column?: number
}

/** What limits and failures that no text of the script comes with have to say. */
export const reasons: Readonly<Record<string, string>> = {
  'cpu-limit': 'The script computed for too long. Do less in one script, or let a tool do the work.',
  'wall-limit': 'The script took too long. Make fewer calls, or make them at the same time with Promise.all.',
  'fuel-limit': 'The script computed for too long. Do less in one script, or let a tool do the work.',
  'memory-limit': 'The script ran out of memory. Keep only the fields you need of each result.',
  'stack-limit': 'The script called itself too deeply. Use a loop.',
  'syntax-error': 'The script closes the function that it is the body of. There is a } too many.',
  deadlock: 'The script waits for a promise that nothing can resolve. Await calls of tools only; there are no timers.',
  aborted: 'The script was aborted.',
  'replay-diverged': 'The script did something else than before: it cannot go on from what was recorded.',
  'engine-failed': 'The sandbox failed and was thrown away. Try again with a simpler script.',
}

const frame = /script\.ts:(\d{1,7}):(\d{1,7})/

/** The first place of the script that a stack trace of the engine names. */
function placeInStack(stack: string): { line: number; column: number } | undefined {
  const [, line, column] = frame.exec(stack) ?? []
  return line && column ? placeOf(Number(line), Number(column)) : undefined
}

/** What can stand as the code of an error. */
export function isCode(text: string): boolean {
  return /^[a-z][a-z-]{0,40}$/.test(text)
}

export function cut(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length)}… (${text.length - length} more characters)` : text
}

/** An error with a message of its own, or what its code has to say. */
export function errorOf(code: string, limits: Limits, message?: string): SandboxError {
  return { code, message: cut(message || (reasons[code] ?? `The script ended with ${code}.`), limits.errorBytes) }
}

/** What a script threw. Only the engine says that it is out of memory, but a script may say so too: it ends all the same. */
export function errorOfThrown(
  end: Extract<GuestEnd, { kind: 'thrown' }>,
  limits: Limits,
  memoryBytes: number,
): SandboxError {
  const place = placeInStack(end.stack)
  const said = /^(Internal|Syntax)Error$/.test(end.name) && end.message === 'out of memory'
  // Where there is no memory left for an error either, the engine throws null.
  const unsaid = end.name === '' && end.message === 'null' && memoryBytes >= limits.memoryBytes
  if (said || unsaid) return { ...errorOf('memory-limit', limits), ...place }
  if (/^Maximum call stack|^stack overflow/.test(end.message)) return { ...errorOf('stack-limit', limits), ...place }
  const plain = end.code !== 'script-error' || end.name === '' || end.name === 'Error'
  const code = isCode(end.code) ? end.code : 'script-error'
  return { ...errorOf(code, limits, plain ? end.message : `${end.name}: ${end.message}`), ...place }
}
