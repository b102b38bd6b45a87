import type { AgentStream } from '@provost/agent'
import type { EntryBody, EntryOf, Extension, Fold, Json, ModelSettings, RequestEdit } from '@provost/core'
import { defineExtension, isRecord, toJson } from '@provost/core'

import { HttpError } from '../http/http-error.ts'
import type { RequestedOptions, RequestOptions } from '../options/request-options.ts'

/** Applies the options of requests to the runs of a session. */
export interface RequestedRun {
  readonly extension: Extension
  /** Sets the options of a run that was just started. */
  begin(run: AgentStream<unknown>, options: RequestedOptions): void
  /** Returns the data of a delivery whose input has these options. */
  dataOf(options: RequestedOptions): Json
}

const optionsExtension = 'server-options'
const key = 'requested'

/** The options of the last input that had any, and the step after which it entered. */
interface Requested {
  readonly options: RequestedOptions
  readonly step: number
}

/** The options of the current run, from the log: a process that resumes the run applies them, too. */
const requested: Fold<Requested> = {
  key: 'server/requested',
  initial: { options: {}, step: 0 },
  apply(state, entry) {
    if (entry.type === 'run' && entry.op === 'started') return { options: {}, step: 0 }
    const given = entry.type === 'ext' ? recordedIn(entry) : entry.type === 'resolved' ? deliveredIn(entry) : undefined
    return given === undefined ? state : { options: optionsIn(given), step: entry.step }
  },
}

function recordedIn(entry: EntryOf<'ext'>): Json | undefined {
  return entry.name === optionsExtension && entry.key === key ? entry.data : undefined
}

/** Returns the options of a delivered input, which enter the log with it. */
function deliveredIn({ token, value }: EntryOf<'resolved'>): Json | undefined {
  if (!token.startsWith('send/') || !isRecord(value) || !isRecord(value['data'])) return undefined
  return value['data'][optionsExtension]
}

/** Creates the extension that records the options of a request and applies them to the model calls of its run. */
export function requestedRun(permitted: RequestOptions): RequestedRun {
  /** The options of runs that have not taken their input yet, by run. */
  const starting = new Map<string, RequestedOptions>()
  return {
    begin({ runId, result }, options) {
      if (Object.values(options).every((value) => value === undefined)) return
      starting.set(runId, options)
      void result.finally(() => starting.delete(runId)).catch(() => {})
    },
    dataOf: (options) => ({ [optionsExtension]: toJson(options) }),
    extension: defineExtension<never>({
      name: optionsExtension,
      hooks: {
        async input(_, ctx) {
          const given = starting.get(ctx.run.id)
          starting.delete(ctx.run.id)
          if (given) await ctx.append(key, toJson(given))
        },
        'model.request': (_, ctx) => editOf(ctx.fold(requested), permitted, ctx.run.step),
      },
    }),
  }
}

/** Returns the entry that sets the options of a run whose log another writer makes. */
export function requestedNote(options: RequestedOptions): Extract<EntryBody, { type: 'ext' }> {
  return { type: 'ext', name: optionsExtension, key, data: toJson(options) }
}

/** Leaves out what this server does not permit: another process may have recorded it. */
function editOf(given: Requested, permitted: RequestOptions, step: number): RequestEdit | undefined {
  const { model, temperature, toolChoice } = given.options
  const spec =
    model !== undefined && refusalOf({ model }, permitted) === undefined ? permitted.models?.[model] : undefined
  // A choice that forces a call would force one in each step.
  const isForced = toolChoice === 'required' || isRecord(toolChoice)
  const chooses = toolChoice !== undefined && permitted.toolChoice === true && (!isForced || step <= given.step + 1)
  const params: ModelSettings = {
    ...(temperature !== undefined && refusalOf({ temperature }, permitted) === undefined && { temperature }),
    ...(chooses && { toolChoice }),
  }
  if (spec === undefined && Object.keys(params).length === 0) return undefined
  return { ...(spec !== undefined && { model: spec }), params }
}

/** @throws HttpError 400 that names an option which the server does not permit. */
export function checkRequested(options: RequestedOptions, permitted: RequestOptions): void {
  const refusal = refusalOf(options, permitted)
  if (refusal) throw new HttpError(400, { code: 'invalid-option', ...refusal })
}

function refusalOf(
  { model, temperature, toolChoice }: RequestedOptions,
  permitted: RequestOptions,
): { readonly message: string; readonly hint: string } | undefined {
  if (model !== undefined) {
    if (!permitted.models) return notPermitted('model', 'models')
    if (!Object.hasOwn(permitted.models, model)) {
      return {
        message: `The option model is ${JSON.stringify(model.slice(0, 100))}, which this server does not offer.`,
        hint: `Use one of ${Object.keys(permitted.models).join(', ')}, or leave options.model out.`,
      }
    }
  }
  if (temperature !== undefined) {
    const range = permitted.temperature
    if (range === undefined || range === false) return notPermitted('temperature', 'temperature')
    if (isRecord(range) && !(temperature >= range.min && temperature <= range.max)) {
      return {
        message: `The option temperature is ${temperature}.`,
        hint: `Use a number from ${range.min} to ${range.max}, or leave options.temperature out.`,
      }
    }
  }
  return toolChoice !== undefined && !permitted.toolChoice ? notPermitted('toolChoice', 'toolChoice') : undefined
}

function notPermitted(option: string, permission: string): { readonly message: string; readonly hint: string } {
  return {
    message: `The option ${option} is not permitted for requests to this server.`,
    hint: `Leave options.${option} out, or add "${permission}" to "requestOptions" of createServer.`,
  }
}

function optionsIn(data: Json): RequestedOptions {
  if (!isRecord(data)) return {}
  const { model, temperature, toolChoice } = data
  return {
    ...(typeof model === 'string' && { model }),
    ...(typeof temperature === 'number' && { temperature }),
    ...(isToolChoice(toolChoice) && { toolChoice }),
  }
}

function isToolChoice(value: unknown): value is NonNullable<ModelSettings['toolChoice']> {
  return (
    value === 'auto' ||
    value === 'none' ||
    value === 'required' ||
    (isRecord(value) && typeof value['tool'] === 'string')
  )
}
