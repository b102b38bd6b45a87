import { isPromise, parseWith, ProvostError, toErrorInfo, toJson } from '@provost/core'
import type { Json, MaybePromise, Parsed, Tool, ToolOutput } from '@provost/core'

import { issuesText } from '../definition/issues.ts'
import { parseInput } from '../definition/parse-input.ts'
import type { ParsedInput } from '../definition/parse-input.ts'
import { errorDataLabel, labelsOf } from '../definition/result-label.ts'
import { unwrap } from '../definition/rich.ts'
import type { RichMore } from '../definition/rich.ts'
import { failedOutcome } from './outcome.ts'
import type { ToolOutcome } from './outcome.ts'

/**
 * Returns the outcome for a value that does not come from `execute` but from a remote side, a human or a hook. The
 * value is validated with the `output` schema, converted to JSON and labelled like an executed one. Never throws or
 * rejects; `durationMs` is 0.
 *
 * @param input the logged input of the call.
 */
export function resultOf(tool: Tool, value: unknown, input: Json): MaybePromise<ToolOutcome> {
  // Only `returns` reads the input, so it is parsed again for that alone.
  const parsed: MaybePromise<ParsedInput> = tool['~tool'].returns ? parseInput(tool, input) : { ok: true, value: input }
  return isPromise(parsed) ? parsed.then((done) => resultFor(tool, value, done)) : resultFor(tool, value, parsed)
}

function resultFor(tool: Tool, value: unknown, input: ParsedInput): MaybePromise<ToolOutcome> {
  if (!input.ok) return failedOutcome(tool, 'error', input.error, 0)
  try {
    const made = conclude(tool, value, input.value)
    return isPromise(made)
      ? made.then(
          (outcome) => outcome,
          (error: unknown) => failed(tool, error),
        )
      : made
  } catch (error) {
    return failed(tool, error)
  }
}

function failed(tool: Tool, error: unknown): ToolOutcome {
  return failedOutcome(tool, 'error', toErrorInfo(error, 'tool-failed'), 0)
}

/**
 * Returns the outcome `ok` of a result of `execute`.
 *
 * @param input the input that `execute` received.
 * @throws ProvostError `invalid-tool-output`, `not-json`, `tool-label-failed`.
 */
export function conclude(tool: Tool, given: unknown, input: unknown): MaybePromise<ToolOutcome> {
  const { value, more } = unwrap(given)
  // An error is an error, returned or thrown: as JSON it would be `{}`.
  if (value instanceof Error) throw value
  if (more?.error !== undefined) return failedWith(tool, value, more, more.error)
  const schema = tool['~tool'].output
  if (!schema) return finish(tool, value, input, more)
  const parsed = parseWith(schema, value)
  return isPromise(parsed)
    ? parsed.then((done) => finish(tool, validated(tool, done), input, more))
    : finish(tool, validated(tool, parsed), input, more)
}

function validated({ name }: Tool, parsed: Parsed<unknown>): unknown {
  if (parsed.ok) return parsed.value
  throw new ProvostError(
    'invalid-tool-output',
    `${name} returned a result that does not match its output schema: ${issuesText(parsed.issues)}.`,
    {
      hint: 'This is a fault of the tool: the same call will fail again.',
    },
  )
}

/** Returns the outcome of a failure that the tool states, with its data. */
function failedWith(tool: Tool, given: unknown, more: RichMore, error: NonNullable<RichMore['error']>): ToolOutcome {
  const { message, code = 'tool-failed' } = typeof error === 'string' ? { message: error } : error
  const data = given === undefined ? message : jsonOf(tool, given)
  return {
    ...failedOutcome(tool, 'error', { code, message }, 0),
    output: more.output ?? (more.content ? { type: 'content', value: more.content } : errorOutput(data)),
    label: errorDataLabel(tool, more),
    ...(more.details !== undefined && { details: jsonOf(tool, more.details) }),
  }
}

function errorOutput(data: Json): ToolOutput {
  return typeof data === 'string' ? { type: 'error-text', value: data } : { type: 'error-json', value: data }
}

function finish(tool: Tool, result: unknown, input: unknown, more: RichMore | undefined): ToolOutcome {
  const value = jsonOf(tool, result)
  return {
    outcome: 'ok',
    output: more?.output ?? (more?.content ? { type: 'content', value: more.content } : outputOf(value)),
    value,
    ...labelled(tool, result, input, more),
    ...(more?.details !== undefined && { details: jsonOf(tool, more.details) }),
    durationMs: 0,
  }
}

/** Returns a result in the form of the AI SDK: text as text, everything else as JSON. */
export function outputOf(value: Json): ToolOutput {
  return typeof value === 'string' ? { type: 'text', value } : { type: 'json', value }
}

/** @throws ProvostError `not-json`, also for what would silently become `{}`. */
export function jsonOf({ name }: Tool, value: unknown): Json {
  if (value instanceof Map || value instanceof Set || ArrayBuffer.isView(value) || value instanceof ArrayBuffer)
    throw new ProvostError(
      'not-json',
      `${name} returned a ${value.constructor.name}, which cannot be written as JSON.`,
      {
        hint: 'Return plain objects and arrays; bytes as base64, or as a file part with rich().',
      },
    )
  try {
    return toJson(value)
  } catch (error) {
    const { code, message, hint } = toErrorInfo(error, 'not-json')
    throw new ProvostError(code, `${name} returned a result that is not data. ${message}`, { hint, cause: error })
  }
}

/** Returns the labels. If `returns` throws, the result has no label and is withheld. */
function labelled(...args: Parameters<typeof labelsOf>): ReturnType<typeof labelsOf> {
  try {
    return labelsOf(...args)
  } catch (cause) {
    throw new ProvostError(
      'tool-label-failed',
      `${args[0].name} ran, but its result is withheld because it could not be labelled: ${toErrorInfo(cause).message}`,
      { hint: 'Correct `returns` of the tool. Do not call it again: it has run.', cause },
    )
  }
}
