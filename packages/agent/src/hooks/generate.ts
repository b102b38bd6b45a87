import type {
  Extension,
  GenerateRequest,
  Generated,
  KnownKeys,
  Label,
  MaybePromise,
  Message,
  MessageInit,
  ModelSettings,
  StandardSchemaV1,
} from '@provost/core'
import { ProvostError, addUsage, checkOptions, joinLabels, labelOf, positionId, sleep, textOf } from '@provost/core'
import type { ModelAnswer } from '@provost/provider'
import {
  callModel,
  checkModel,
  checkSettings,
  createPrompt,
  messageTokens,
  modelName,
  resolveModel,
  defaultRetries,
  retryDelayMs,
} from '@provost/provider'
import { jsonSchemaOf } from '@provost/tools'

import { messageOf } from '../messages/message.ts'
import { withCost } from '../prompt/cost.ts'
import { readOutput } from '../prompt/structured-output.ts'
import { newEntry } from '../state/entry.ts'
import type { RunContext } from '../types/run-context.ts'
import { aroundModel } from './around-model.ts'
import { withoutHookTime } from './hook-time.ts'
import { admitCall, releaseReservation } from './model-admission.ts'

type Request = GenerateRequest & { readonly output?: StandardSchemaV1 }

/**
 * Calls a model outside the conversation. Its usage counts for the run, and its answer carries the labels of the prompt. A
 * prompt message without a label gets the label of the current view, joined with `shown`.
 *
 * @param by the extension whose hook makes the call.
 * @param shown the label of the hook's payload, where that is not in the view.
 * @throws ProvostError with the class of the failure, or `output-invalid`; RunEnding where a `model.call` hook refuses it.
 */
export function generate(ctx: RunContext, by: Extension, request: Request, shown?: Label): Promise<Generated<never>> {
  // A model call has separate limits and may wait for other calls, so it does not count against the hook's time.
  return withoutHookTime(ctx, by, () => generated(ctx, by, request, shown))
}

async function generated(
  ctx: RunContext,
  by: Extension,
  request: Request,
  shown: Label | undefined,
): Promise<Generated<never>> {
  const { agent, state, options } = ctx
  checkRequest(request)
  const messages = promptOf(ctx, request, shown)
  const label = joinLabels(...messages.map(labelOf))
  const model = await resolveModel(request.model ?? options.model ?? agent.model)
  const prompt = createPrompt()
  prompt.reset(messages)
  const maxRetries = request.settings?.maxRetries ?? agent.settings.maxRetries ?? defaultRetries
  const signal = request.signal ? AbortSignal.any([ctx.signal, request.signal]) : ctx.signal
  const name = modelName(model)
  const nth = ++ctx.hookRequests
  const asked = request.settings ?? {}
  const call = (settings: ModelSettings): Promise<ModelAnswer> =>
    callModel(
      {
        model,
        clock: state.clock,
        prompt: prompt.build(),
        label,
        signal,
        settings,
        callId: (index) => positionId(ctx.id, ctx.step, 'generated', index),
        ...(request.output && { responseFormat: { schema: jsonSchemaOf(request.output), name: 'output' } }),
      },
      () => {},
    )
  for (let attempt = 1; ; attempt++) {
    const { id, step } = ctx
    const opId = positionId(id, step, `generating/${by.name}`, `${nth}.${attempt}`)
    const settings = await admitted(opId, attempt)
    const op = {
      kind: 'model',
      id: opId,
      parent: `${id}/${step}`,
      step,
      model: name,
      attempt,
      settings,
      label,
    } as const
    let answer: ModelAnswer
    try {
      answer = await aroundModel(ctx, { ...op, purpose: 'generated' }, () => call(settings), by)
      await ctx.logWriter.append([
        newEntry(
          { ...ctx.logWriter.entryContext(), step: ctx.step },
          positionId(ctx.id, ctx.step, 'generated', `${state.offset}.${ctx.hookModelCalls++}`),
          {
            type: 'attempt',
            attempt,
            model: name,
            ...withCost(answer.usage, name, agent.prices),
            outcome: answer.ok ? 'answered' : 'discarded',
            purpose: 'generated',
          },
        ),
      ])
    } finally {
      releaseReservation(ctx, opId)
    }
    if (answer.ok) {
      const text = textOf({ content: answer.parts })
      const output = await outputOf(request.output, text)
      return { text, output, usage: addUsage({}, answer.usage), label }
    }
    const delay = answer.aborted || attempt > maxRetries ? undefined : retryDelayMs(answer.fault, attempt)
    if (delay === undefined) {
      if (answer.error instanceof ProvostError && answer.error.code === 'clearance-denied') throw answer.error
      throw new ProvostError(answer.fault.class, answer.fault.message, { cause: answer.error })
    }
    await sleep(state.clock, delay, signal)
    signal.throwIfAborted()
  }

  function admitted(callId: string, attempt: number): MaybePromise<ModelSettings> {
    if (agent.hooks['model.call'].length === 0) return asked
    const inputTokens = messages.reduce((sum, message) => sum + messageTokens(message), 0)
    const planned = { id: callId, model: name, attempt, purpose: 'generated', inputTokens, params: asked } as const
    return admitCall(ctx, planned, () => false, by)
  }
}

const requestKeys = {
  prompt: true,
  model: true,
  system: true,
  settings: true,
  signal: true,
  output: true,
} satisfies KnownKeys<Request>

function checkRequest(request: Request): void {
  const where = 'ctx.generate'
  checkOptions(request, requestKeys, where, {
    messages: 'Name it "prompt".',
    instructions: 'Name it "system".',
    schema: 'Name it "output".',
    abortSignal: 'Name it "signal".',
    tools: 'A call outside the conversation has no tools. Remove it.',
  })
  if (request.model !== undefined) checkModel(request.model, where)
  checkSettings(request.settings, where)
}

function promptOf(ctx: RunContext, { prompt, system }: Request, shown: Label | undefined): readonly Message[] {
  const inits: MessageInit[] = system === undefined ? [] : [{ role: 'system', content: system }]
  inits.push(...(typeof prompt === 'string' ? [{ content: prompt }] : prompt))
  const { clock, viewLabel } = ctx.state
  const known = shown ? joinLabels(viewLabel, shown) : viewLabel
  const labelFor = ({ role }: MessageInit): Label | undefined => (role === 'system' ? undefined : known)
  return inits.map((init, index) => messageOf(init, clock, `generated/${index}`, labelFor(init)))
}

/** Returns the text, or its value by the schema. The overloads of `ctx.generate` give the type. */
async function outputOf(schema: StandardSchemaV1 | undefined, text: string): Promise<never> {
  const read = await readOutput(schema, text)
  if (read) return unchecked(read.value)
  throw new ProvostError('output-invalid', 'The output of ctx.generate does not fit its schema.', {
    hint: 'State the shape of the answer in the prompt.',
  })
}

/** Fits every overload of `ctx.generate`; the request selects one. */
function unchecked(value: unknown): never {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- see above
  return value as never
}
