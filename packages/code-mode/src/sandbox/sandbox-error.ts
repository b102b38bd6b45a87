import type { GuestEnd } from '../engine/bridge-frame.ts'
import { placeOf } from '../engine/script-source.ts'
import type { Limits } from '../worker/limits.ts'

/** Why a script returned no value. The model reads `message`, which therefore also says what to do. */
export interface SandboxError {
  /**
   * `script-error` (the script threw), `syntax-error`, `tool-error` or the code of a failed call that the script did
   * not catch, `not-json`, `cpu-limit`, `wall-limit`, `fuel-limit`, `memory-limit`, `stack-limit`, `call-limit`,
   * `argument-size`, `reply-size`, `output-size`, `source-size`, `deadlock`, `aborted`, `replay-diverged`,
   * `engine-failed`.
   */
  readonly code: string
  readonly message: string
  /** The line in the script, counted from 1. */
  readonly line?: number
  readonly column?: number
  /** The message, or that there is a failure, depends on untrusted data; in a sandbox that follows values. */
  readonly isUntrusted?: true
}

/** Messages of limits and failures for which the script provides no text. */
export const reasons: Readonly<Record<string, string>> = {
  'cpu-limit': 'The script computed for too long. Do less in one script, or let a tool do the work.',
  'wall-limit': 'The script took too long. Make fewer calls, or make them at the same time with Promise.all.',
  'fuel-limit': 'The script computed for too long. Do less in one script, or let a tool do the work.',
  'memory-limit': 'The script ran out of memory. Keep only the fields you need of each result.',
  'stack-limit': 'The script called itself too deeply. Use a loop.',
  'syntax-error': 'The script closes the function that wraps it. Remove the extra }.',
  deadlock: 'The script waits for a promise that nothing can resolve. Await calls of tools only; there are no timers.',
  aborted: 'The script was aborted.',
  'replay-diverged':
    'The script behaved differently than in its earlier run, so that it cannot resume from its journal.',
  'engine-failed': 'The sandbox failed and was discarded. Try again with a simpler script.',
}

const frame = /script\.ts:(\d{1,7}):(\d{1,7})/

/** The first position in the script that a stack trace of the engine names. */
function placeInStack(stack: string): { line: number; column: number } | undefined {
  const [, line, column] = frame.exec(stack) ?? []
  return line && column ? placeOf(Number(line), Number(column)) : undefined
}

/** The error of a script that untrusted data would have stopped. The guest wrote `[message, origins, lines]`. */
export function errorOfStop(text: string, limits: Limits): SandboxError {
  const parsed: unknown = JSON.parse(text)
  const [message, , lines] = Array.isArray(parsed) ? parsed : []
  const [line] = Array.isArray(lines) ? lines.map(Number) : []
  return {
    ...errorOf('untrusted-stop', limits, String(message)),
    ...(line !== undefined && { line, column: 1 }),
    isUntrusted: true,
  }
}

/** Whether a text is valid as an error code. */
export function isCode(text: string): boolean {
  return /^[a-z][a-z-]{0,40}$/.test(text)
}

export function cut(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length)}… (${text.length - length} more characters)` : text
}

/** Creates an error with the given message, or the default message of its code. */
export function errorOf(code: string, limits: Limits, message?: string): SandboxError {
  return { code, message: cut(message || (reasons[code] ?? `The script ended with ${code}.`), limits.errorBytes) }
}

/**
 * Creates the error of a script that threw. A script may imitate the engine's out-of-memory error; it ends all the
 * same.
 */
export function errorOfThrown(
  end: Extract<GuestEnd, { kind: 'thrown' }>,
  limits: Limits,
  memoryBytes: number,
): SandboxError {
  const place = { ...placeInStack(end.stack), ...(end.isUntrusted && { isUntrusted: true as const }) }
  const reported = /^(Internal|Syntax)Error$/.test(end.name) && end.message === 'out of memory'
  // Without memory for an error, the engine throws null.
  const unreported = end.name === '' && end.message === 'null' && memoryBytes >= limits.memoryBytes
  if (reported || unreported) return { ...errorOf('memory-limit', limits), ...place }
  if (/^Maximum call stack|^stack overflow/.test(end.message)) return { ...errorOf('stack-limit', limits), ...place }
  const plain = end.code !== 'script-error' || end.name === '' || end.name === 'Error'
  const code = isCode(end.code) ? end.code : 'script-error'
  return { ...errorOf(code, limits, plain ? end.message : `${end.name}: ${end.message}`), ...place }
}
