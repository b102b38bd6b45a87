import { hash } from 'node:crypto'

/** The same for every attempt at a call. */
export function idempotencyKeyOf(runId: string, callId: string): string {
  return hash('sha256', `${runId}\n${callId}`)
}
