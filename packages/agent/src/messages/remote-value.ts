import type { Json, RemoteError, RemoteResult } from '@provost/core'
import { isRecord, toJson } from '@provost/core'

/** How a remote call ended. */
export type RemoteOutcome =
  | { readonly output: Json; readonly error?: never }
  | { readonly error: RemoteError; readonly output?: never }

const outputKey = '~output'
const errorKey = '~error'

/**
 * Returns the value that the log and the inbox hold for the result of a remote call. An output is its own value; an
 * error is `{ '~error': … }`. An output that looks like one of the two forms is wrapped.
 */
export function remoteValue({ output, error }: Pick<RemoteResult, 'output' | 'error'>): Json {
  if (error) return { [errorKey]: { message: error.message, ...(error.code !== undefined && { code: error.code }) } }
  const value = toJson(output)
  return isForm(value, outputKey) || isForm(value, errorKey) ? { [outputKey]: value } : value
}

/** Returns how a remote call ended, from the value in the log or the inbox. */
export function readRemoteValue(value: Json): RemoteOutcome {
  if (isForm(value, outputKey)) return { output: toJson(value[outputKey]) }
  const given = isForm(value, errorKey) ? value[errorKey] : undefined
  if (!isRecord(given) || typeof given['message'] !== 'string') return { output: value }
  const { message, code } = given
  return { error: { message, ...(typeof code === 'string' && { code }) } }
}

function isForm(value: Json, key: string): value is { readonly [key: string]: Json } {
  return isRecord(value) && Object.keys(value).length === 1 && Object.hasOwn(value, key)
}
