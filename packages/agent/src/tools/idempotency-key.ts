import { hash } from 'node:crypto'

/** Returns the idempotency key of a call, the same for every attempt. */
export function idempotencyKeyOf(runId: string, callId: string): string {
  return hash('sha256', `${runId}\n${callId}`)
}
