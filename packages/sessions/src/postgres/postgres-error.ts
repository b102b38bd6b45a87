import { assertNever, isRecord, ProvostError, toErrorInfo } from '@provost/core'

import { diskError } from '../kit/store-error.ts'

/** What an error of PostgreSQL means for the statement that failed. */
export type PostgresFault =
  /** The server or the way to it is away, or it has no place for the connection: repeat the statement later. */
  | 'away'
  /** The server is a replica, as after a failover: repeat the statement on another connection. */
  | 'read-only'
  /** Two transactions were in each other's way: repeat the statement at once. */
  | 'conflict'
  /** The database, the user or the password is unknown. */
  | 'rejected'
  | 'other'

/** Errors of the network, lost and refused connections, a server that stops or starts, and one without free connections. */
const awayCode = /^(?:E[A-Z]{3,}|08\w{3}|57P0[1-4]|53300|53400|57014|55P03|25P03|25P04)$/u
/** Messages of `pg` and its pool for connections that ended and for times that are over. */
const awayText = /^(?:Connection terminated|Query read timeout|timeout e|Client has encountered a connection error)/u

/** Returns what an error of a statement or a connection means. */
export function postgresFault(error: unknown): PostgresFault {
  const code = isRecord(error) && typeof error['code'] === 'string' ? error['code'] : ''
  if (code === '25006') return 'read-only'
  if (code === '40001' || code === '40P01') return 'conflict'
  if (/^(?:3D|28)\w{3}$/u.test(code)) return 'rejected'
  if (awayCode.test(code) || (error instanceof Error && awayText.test(error.message))) return 'away'
  return 'other'
}

/**
 * Converts an error to a ProvostError with a hint. Errors of statements stay as they are.
 *
 * @param content what the database keeps: `the store`.
 */
export function postgresError(content: string, error: unknown): unknown {
  if (error instanceof ProvostError) return error
  const why = toErrorInfo(error).message
  const fault = postgresFault(error)
  switch (fault) {
    case 'rejected':
      return new ProvostError('store-unusable', `The database of ${content} rejects the connection: ${why}.`, {
        hint: 'Check the user, the password and the name of the database in the URL.',
        cause: error,
      })
    case 'away':
    case 'read-only':
    case 'conflict':
      return new ProvostError('store-unreachable', `The database of ${content} is not reachable: ${why}.`, {
        hint: 'Check that the server runs, accepts writes and connections, and that the URL is right.',
        cause: error,
        retryable: true,
      })
    case 'other':
      return diskError(`the database of ${content}`, error)
    default:
      return assertNever(fault)
  }
}
