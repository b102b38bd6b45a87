import type { Json } from '@provost/core'
import { isRecord, toJson } from '@provost/core'

import { badRequest } from '../http/request-error.ts'

/** A call in a client's history, as a part of a message. */
export interface GivenCall {
  readonly type: 'tool-call'
  readonly toolCallId: string
  readonly toolName: string
  readonly input: Json
}

/**
 * Reads the calls of an assistant message in the form of OpenAI's API: an id, and a function with its name and arguments.
 *
 * @throws HttpError 400, naming the path of an invalid call
 */
export function functionCalls(calls: unknown, at: string): readonly GivenCall[] {
  if (!Array.isArray(calls)) return []
  return calls.map((call: unknown, n): GivenCall => {
    const path = `${at}.${n}`
    const named = isRecord(call) ? call['function'] : undefined
    if (!isRecord(call) || !isRecord(named)) throw badRequest(`${path}: expected a call of a function.`)
    const toolName = textAt(named, 'name', `${path}.function`)
    const input = callArguments(textAt(named, 'arguments', `${path}.function`), `${path}.function.arguments`)
    return { type: 'tool-call', toolCallId: textAt(call, 'id', path), toolName, input }
  })
}

/** An empty text stands for no arguments. */
function callArguments(text: string, at: string): Json {
  try {
    return text === '' ? {} : toJson(JSON.parse(text))
  } catch {
    throw badRequest(`${at}: this is not JSON.`)
  }
}

/** Returns a field that has to be a text. */
export function textAt(of: Readonly<Record<string, unknown>>, key: string, at: string): string {
  const value = of[key]
  if (typeof value === 'string') return value
  throw badRequest(`${at}.${key}: expected a text.`)
}
