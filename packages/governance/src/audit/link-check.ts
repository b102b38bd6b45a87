import { timingSafeEqual } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'

import type { Entry } from '@provost/core'

import type { AuditKey, AuditLink, LinkedRow } from './audit-link.ts'
import { linkOf } from './audit-link.ts'
import type { AuditProblem } from './audit-report.ts'
import { problem } from './audit-report.ts'
import { callsIn, payloadOf, saltedHash } from './audited-entry.ts'
import type { OpenEntry } from './chain-fold.ts'

/** Keys to check links with. */
export interface AuditKeys {
  /** The key of links that name none. */
  readonly key?: AuditKey
  /** Keys by the `keyId` of the links. */
  readonly keys?: Readonly<Record<string, AuditKey>>
}

/** Checks the hash of a link, and that it follows the link before. */
export function checkLink(link: AuditLink, before: AuditLink | undefined, keys: AuditKeys): readonly AuditProblem[] {
  const { n, previous, hash, keyed, keyId } = link
  const at = link.rows.at(-1)?.entry ?? link.end?.run ?? ''
  const key = keyOf(link, keys)
  const found: AuditProblem[] = []
  if (n !== (before?.n ?? 0) + 1 || previous !== (before?.hash ?? ''))
    found.push(problem('link-missing', at, `Link ${n} does not follow link ${before?.n ?? 0}.`))
  if (keyed && key === undefined) {
    const which = keyId === undefined ? 'a key' : `the key "${keyId}"`
    found.push(problem('key-needed', at, `The link was made with ${which}, which was not given.`))
  } else if (!keyed && (keys.key !== undefined || keys.keys !== undefined))
    found.push(problem('key-unused', at, 'The link was made without a key, but a key was given.'))
  else if (!same(linkOf(link, key).hash, hash))
    found.push(problem('link-changed', at, 'The hash of the link does not match its content.'))
  return found
}

function keyOf({ keyId }: AuditLink, { key, keys }: AuditKeys): AuditKey | undefined {
  if (keyId === undefined) return key
  return keys && Object.hasOwn(keys, keyId) ? keys[keyId] : undefined
}

/** Compares an entry with what its link states of it. */
export function checkRow(row: LinkedRow, { entry, args }: OpenEntry, decided: DecidedArgs): readonly AuditProblem[] {
  const { salt = '' } = row
  const found: AuditProblem[] = []
  if (payloadOf(entry, salt) !== row.payload) {
    found.push(problem('entry-changed', row.entry, 'The entry does not match its link.'))
    for (const { callId, input } of entry.type === 'message' ? callsIn(entry) : []) {
      const other = decided.get(callId)
      if (other !== undefined && !isDeepStrictEqual(other, input))
        found.push(problem('decision-for-other-arguments', callId, 'The call has other arguments than its decision.'))
    }
  }
  const now = args === undefined ? undefined : saltedHash(args, salt)
  if (now !== row.args) {
    const [code, message] = otherArguments(entry)
    found.push(problem(code, entry.type === 'call' ? entry.callId : row.entry, message))
  }
  return found
}

/** The first decided arguments of each call. */
export type DecidedArgs = ReadonlyMap<string, unknown>

function otherArguments(entry: Entry): readonly [AuditProblem['code'], string] {
  if (entry.type === 'resolved')
    return ['approval-for-other-arguments', 'The approver wrote other arguments than the entry states.']
  return entry.type === 'call' && entry.op === 'settled'
    ? ['ran-with-other-arguments', 'The tool received other arguments than the log states.']
    : ['decision-for-other-arguments', 'The decision was about other arguments than the entry states.']
}

/** Compares hashes in constant time, so that the time does not leak the expected hash. */
export function same(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)]
  return left.length === right.length && timingSafeEqual(left, right)
}
