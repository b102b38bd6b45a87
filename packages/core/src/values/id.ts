/** The last millisecond an id was made in, and how many were made in it. */
let moment = 0
let count = 0

/**
 * A UUID of version 7: the id of a session or a root run. Every other id comes from a position in the log. Those of one
 * process sort in the order they were made in; who needs more than 4,096 in a millisecond borrows from the next.
 *
 * @see RFC 9562, section 6.2, method 1
 */
export function uuidv7(): string {
  const now = Date.now()
  if (now > moment) [moment, count] = [now, 0]
  else if (++count > 0xf_ff) [moment, count] = [moment + 1, 0]
  const time = moment.toString(16).padStart(12, '0')
  // The other half is that of a version 4, 62 random bits: Node makes those many at a time, which is far cheaper.
  return `${time.slice(0, 8)}-${time.slice(8)}-7${count.toString(16).padStart(3, '0')}${crypto.randomUUID().slice(18)}`
}

/**
 * The id of something at a position of a run: `run/step/kind/key`. The same position gives the same id, which is
 * what makes appends idempotent.
 */
export function positionId(runId: string, step: number, kind: string, key: string | number): string {
  return `${runId}/${step}/${kind}/${key}`
}
