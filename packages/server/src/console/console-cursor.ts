import type { SummaryPlace, WaitPlace } from '@provost/core'

import { badRequest } from '../http/request-error.ts'

/** Writes a place of a list as the cursor of its next page. */
export function writePlace(place: readonly [at: number, id: string]): string {
  return Buffer.from(JSON.stringify(place)).toString('base64url')
}

/** @throws HttpError 400 `invalid-request` */
export function readSummaryPlace(text: string): SummaryPlace {
  const [updatedAt, id] = readPlace(text, 'before')
  return { updatedAt, id }
}

/** @throws HttpError 400 `invalid-request` */
export function readWaitPlace(text: string): WaitPlace {
  const [at, token] = readPlace(text, 'after')
  return { at, token }
}

function readPlace(text: string, name: string): readonly [at: number, id: string] {
  let place: unknown
  try {
    place = JSON.parse(Buffer.from(text, 'base64url').toString())
  } catch {
    place = undefined
  }
  const [at, id]: readonly unknown[] = Array.isArray(place) ? place : []
  if (typeof at === 'number' && Number.isSafeInteger(at) && typeof id === 'string') return [at, id]
  throw badRequest(`\`${name}\` is not a \`next\` of this list.`)
}
