/** The millisecond of the latest id, and how many ids were made in it. */
let moment = 0
let count = 0

/**
 * Returns a UUID of version 7: the id of a session or a root run. All other ids are derived from a position in the log.
 * Ids of one process sort in order of creation. More than 4,096 in a millisecond use numbers of the next one.
 *
 * @see RFC 9562, section 6.2, method 1
 */
export function uuidv7(): string {
  const now = Date.now()
  if (now > moment) [moment, count] = [now, 0]
  else if (++count > 0xf_ff) [moment, count] = [moment + 1, 0]
  const time = moment.toString(16).padStart(12, '0')
  // The second half is that of a version 4 UUID, 62 random bits: Node generates many at a time, which is far cheaper.
  return `${time.slice(0, 8)}-${time.slice(8)}-7${count.toString(16).padStart(3, '0')}${crypto.randomUUID().slice(18)}`
}

/**
 * Returns the id of an entry at a position of a run: `run/step/kind/key`. The same position gives the same id, which makes
 * appends idempotent.
 */
export function positionId(runId: string, step: number, kind: string, key: string | number): string {
  return `${runId}/${step}/${kind}/${key}`
}
