import type { FailedAttempt, MaybePromise, MessageInit, NewEntry, OneModel } from '@provost/core'
import { isPromise, positionId, sleep } from '@provost/core'
import type { AnyModel } from '@provost/provider'
import { chooseModel, modelName, resolveModel } from '@provost/provider'

import { failureOf } from '../control/failure-source.ts'
import { reportEnding } from '../control/report.ts'
import { stopIfAborted } from '../control/run-ending.ts'
import { admitCall } from '../hooks/model-admission.ts'
import { tailMessages } from '../inbox/enter-messages.ts'
import { tierOf } from '../prompt/select-model.ts'
import { hashJson, newEntry, placeOf } from '../state/entry.ts'
import type { EntryContext } from '../types/log.ts'
import type { StepOutcome } from '../types/loop.ts'
import type { StepRequest } from '../types/orchestrator.ts'
import type { RunContext } from '../types/run-context.ts'
import { RunEnding } from '../types/run-ending.ts'
import { cutView } from './context-edit.ts'
import type { ErrorRecovery } from './error-recovery.ts'
import { recoverFrom } from './error-recovery.ts'
import { attemptModel, isHeldBack, requestTokens } from './model-attempt.ts'
import { endDiscarded, recordFailure } from './model-failure.ts'
import type { PreparedRequest } from './model-request.ts'
import { prepareRequest } from './model-request.ts'
import { validateResponse } from './response-hooks.ts'

/** The most attempts in one step. The limit ends hooks that always request another one. */
const mostAttempts = 20

/**
 * Runs one model step: edits the view, prepares the request, attempts the call until one answers or recovery ends, and
 * validates the answer.
 */
export async function askModel(
  ctx: RunContext,
  { step, options }: { readonly step: number; readonly options: StepRequest },
): Promise<StepOutcome> {
  const { state, logWriter, agent } = ctx
  stopIfAborted(ctx)
  ctx.step = step
  ctx.attempt = (state.run?.attempts ?? 0) + 1
  ctx.stepRequest = options
  const place: EntryContext = { ...placeOf(state), step }
  if (agent.hooks.context.length > 0) {
    for (const asked of ctx.pendingInputs.compactions.splice(0)) await compactOnRequest(ctx, place, asked)
    ctx.viewTrigger = 'step'
    await cutView(ctx, place)
  }
  const prepared = prepareRequest(ctx, options)
  let request = isPromise(prepared) ? await prepared : prepared
  let spec = request.model
  const failures: FailedAttempt[] = []
  const resolved = modelOf(spec)
  let model = isPromise(resolved) ? await resolved : resolved
  if (request.tail.length > 0) await logWriter.append([tailEntry(place, request.tail, ctx.attempt)])
  logWriter.emit('step.start', { model: modelName(model) }, ctx.step)

  for (let tries = 1; ; tries++) {
    const admission = admitted(ctx, model, request)
    const tried = await attemptModel(ctx, model, isPromise(admission) ? await admission : admission, options)
    if (tried.answer.ok) return validateResponse(ctx, place, tried, tried.answer, options, request.hold)
    const failed = await recordFailure(ctx, place, tried, tried.answer, spec, request.settings, failures)
    if (tried.answer.aborted) throw new RunEnding('aborted')
    const remedy: ErrorRecovery = tries < mostAttempts ? await recoverFrom(ctx, failed) : { kind: 'none' }
    if (remedy.kind === 'none') {
      const failure = remedy.error ? { ...failed, error: remedy.error } : failed
      const { partial: _, ...unsaid } = failure
      ctx.partialMessage = undefined
      return { failure: isHeldBack(tried.pieces, request.hold) ? unsaid : failure }
    }
    endDiscarded(ctx, tried, request)
    const name = tried.model
    if (remedy.kind === 'model') {
      spec = chooseModel(remedy.model, tierOf(ctx))
      model = await modelOf(spec)
      logWriter.emit('model.fallback', { from: name, to: modelName(model), class: failed.class }, ctx.step)
    } else if (remedy.kind === 'retry') {
      const { afterMs } = remedy
      logWriter.emit('model.retry', { model: name, attempt: ctx.attempt, afterMs, class: failed.class }, ctx.step)
      // An abort ends the wait; the check below then ends the run.
      await sleep(ctx.state.clock, afterMs, ctx.signal)
    } else {
      ctx.viewTrigger = 'overflow'
      await cutView(ctx, place)
      request = await prepareRequest(ctx, options)
      if (request.tail.length > 0) await logWriter.append([tailEntry(place, request.tail, ctx.attempt + 1)])
    }
    ctx.attempt++
    stopIfAborted(ctx)
  }
}

/** Returns the model of a spec. @throws the error with the model as its source. */
function modelOf(spec: OneModel): MaybePromise<AnyModel> {
  const failed = (thrown: unknown): never => {
    const name = modelName(spec)
    const hint = 'Give the agent a model that is installed.'
    throw failureOf(thrown, { kind: 'model', name }, { code: 'model-failed', what: `The model ${name}`, hint })
  }
  try {
    const model = resolveModel(spec)
    return isPromise(model) ? model.then((loaded) => loaded, failed) : model
  } catch (thrown) {
    return failed(thrown)
  }
}

/** Returns the request as the `model.call` hooks admit it. Without such hooks it costs one comparison. */
function admitted(ctx: RunContext, model: AnyModel, request: PreparedRequest): MaybePromise<PreparedRequest> {
  if (ctx.agent.hooks['model.call'].length === 0) return request
  const { id: runId, step, attempt, state } = ctx
  const id = positionId(runId, step, 'message', attempt)
  const call = {
    id,
    model: modelName(model),
    attempt,
    inputTokens: requestTokens(ctx, request),
    params: request.settings,
  }
  const isCounted = (): boolean => {
    const last = state.run?.lastAttempt
    return last !== undefined && (last.step > step || (last.step === step && last.attempt >= attempt))
  }
  return admitCall(ctx, call, isCounted).then((settings) => ({ ...request, settings }))
}

/** Runs a requested compaction. Its caller receives a failure; the run continues. */
async function compactOnRequest(
  ctx: RunContext,
  place: EntryContext,
  asked: PromiseWithResolvers<void>,
): Promise<void> {
  ctx.viewTrigger = 'manual'
  try {
    await cutView(ctx, place)
    asked.resolve()
  } catch (thrown) {
    stopIfAborted(ctx)
    reportEnding(ctx, thrown)
    asked.reject(thrown)
  }
}

function tailEntry(place: EntryContext, tail: readonly MessageInit[], nth: number): NewEntry {
  const { messages, label } = tailMessages(tail, place.clock, `${place.runId}/${place.step}`)
  const hash = hashJson(messages.map(({ role, content }) => ({ role, content: JSON.stringify(content) })))
  return newEntry(place, positionId(place.runId, place.step, 'tail', nth), { type: 'tail', hash, label })
}
