import { isRecord } from '@provost/core'

import { HttpError } from './http-error.ts'

export function isCode(thrown: unknown, code: string | number): boolean {
  return isRecord(thrown) && thrown['code'] === code
}

export function badRequest(message: string): HttpError {
  return new HttpError(400, { code: 'invalid-request', message, hint: 'See /openapi.json.' })
}

export function waits(id: string): HttpError {
  return new HttpError(409, {
    code: 'session-suspended',
    message: `Session ${id} waits for decisions.`,
    hint: 'Answer its `pending` work, send a follow-up, or abort its run.',
  })
}

export function busy(id: string): HttpError {
  return new HttpError(409, {
    code: 'session-busy',
    message: `Session ${id} has an active run.`,
    hint: 'Steer it, send a follow-up, or wait for its end.',
  })
}

export function tooMany(what: string, hint: string): HttpError {
  return new HttpError(
    429,
    { code: 'too-many', message: `You have too many ${what}.`, hint, retryable: true },
    { 'retry-after': '5' },
  )
}
