/**
 * Returns the log that records who read a session as a whole. It is no session: nothing lists it. `pruneSessions` and
 * `eraseSession` remove it with its session; `store.delete` of the session alone does not.
 *
 * @example
 * for await (const entry of store.read(auditLogOf(sessionId))) console.log(entry)
 */
export function auditLogOf(sessionId: string): string {
  return `console-audit/${sessionId}`
}
