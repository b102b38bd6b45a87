import { setTimeout as sleep } from 'node:timers/promises'

import type { FailedAttempt, MaybePromise, MessageInit, NewEntry } from '@provost/core'
import { isPromise, positionId } from '@provost/core'
import type { AnyModel } from '@provost/provider'
import { chooseModel, modelName, resolveModel } from '@provost/provider'

import { stopIfAborted } from '../control/run-ending.ts'
import { admitCall } from '../hooks/model-admission.ts'
import { tailMessages } from '../inbox/enter-messages.ts'
import { tierOf } from '../prompt/select-model.ts'
import { hashJson, newEntry, placeOf } from '../state/entry.ts'
import { nextAction } from '../state/next-action.ts'
import type { Place } from '../types/log.ts'
import type { LoopAnswers } from '../types/loop.ts'
import type { StepRequest } from '../types/orchestrator.ts'
import type { RunContext } from '../types/run-context.ts'
import { RunEnding } from '../types/run-ending.ts'
import { cutView } from './context-edit.ts'
import type { ErrorRecovery } from './error-recovery.ts'
import { recoverFrom } from './error-recovery.ts'
import { attemptModel, requestTokens } from './model-attempt.ts'
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
export async function askModel(scope: RunContext, options: StepRequest = {}): Promise<LoopAnswers['model']> {
  const { state, journal, plan } = scope
  stopIfAborted(scope)
  const run = state.run
  scope.step = (run?.step ?? 0) + (nextAction(state) === 'model' ? 0 : 1)
  scope.attempt = (run?.attempts ?? 0) + 1
  scope.request = options
  const place: Place = { ...placeOf(state), step: scope.step }
  if (plan.hooks.context.length > 0) {
    for (const asked of scope.mailbox.compactions.splice(0)) await cutByHand(scope, place, asked)
    scope.trigger = 'step'
    await cutView(scope, place)
  }
  const prepared = prepareRequest(scope, options)
  let request = isPromise(prepared) ? await prepared : prepared
  let spec = request.model
  const failures: FailedAttempt[] = []
  const resolved = resolveModel(spec)
  let model = isPromise(resolved) ? await resolved : resolved
  if (request.tail.length > 0) await journal.append([tailEntry(place, request.tail, scope.attempt)])
  journal.emit('step.start', { model: modelName(model) }, scope.step)

  for (let tries = 1; ; tries++) {
    const admission = admitted(scope, model, request)
    const tried = await attemptModel(scope, model, isPromise(admission) ? await admission : admission, options)
    if (tried.answer.ok) return validateResponse(scope, place, tried, tried.answer, options, request.hold)
    const failed = await recordFailure(scope, place, tried, tried.answer, spec, failures)
    if (tried.answer.aborted) throw new RunEnding('aborted')
    const remedy: ErrorRecovery =
      tries < mostAttempts ? await recoverFrom(scope, failed, tried, request) : { kind: 'none' }
    if (remedy.kind === 'none') {
      const failure = remedy.error ? { ...failed, error: remedy.error } : failed
      const { partial: _, ...unsaid } = failure
      scope.partial = undefined
      return { failure: request.hold ? unsaid : failure }
    }
    endDiscarded(scope, tried, request)
    const name = modelName(model)
    if (remedy.kind === 'model') {
      spec = chooseModel(remedy.model, tierOf(scope))
      model = await resolveModel(spec)
      journal.emit('model.fallback', { from: name, to: modelName(model), class: failed.class }, scope.step)
    } else if (remedy.kind === 'retry') {
      const { afterMs } = remedy
      journal.emit('model.retry', { model: name, attempt: scope.attempt, afterMs, class: failed.class }, scope.step)
      // An abort ends the wait; the check below then ends the run.
      await sleep(afterMs, undefined, { signal: scope.signal }).catch(() => {})
    } else {
      scope.trigger = 'overflow'
      await cutView(scope, place)
      request = await prepareRequest(scope, options)
      if (request.tail.length > 0) await journal.append([tailEntry(place, request.tail, scope.attempt + 1)])
    }
    scope.attempt++
    stopIfAborted(scope)
  }
}

/** Returns the request as the `model.call` hooks admit it. Without such hooks it costs one comparison. */
function admitted(scope: RunContext, model: AnyModel, request: PreparedRequest): MaybePromise<PreparedRequest> {
  if (scope.plan.hooks['model.call'].length === 0) return request
  const { id: runId, step, attempt, state } = scope
  const id = positionId(runId, step, 'message', attempt)
  const call = {
    id,
    model: modelName(model),
    attempt,
    inputTokens: requestTokens(scope, request),
    params: request.settings,
  }
  const isCounted = (): boolean => {
    const last = state.run?.lastAttempt
    return last !== undefined && (last.step > step || (last.step === step && last.attempt >= attempt))
  }
  return admitCall(scope, call, isCounted).then((settings) => ({ ...request, settings }))
}

/** Runs a requested compaction. Its caller receives a failure; the run continues. */
async function cutByHand(scope: RunContext, place: Place, asked: PromiseWithResolvers<void>): Promise<void> {
  scope.trigger = 'manual'
  try {
    await cutView(scope, place)
    asked.resolve()
  } catch (thrown) {
    stopIfAborted(scope)
    asked.reject(thrown)
  }
}

function tailEntry(place: Place, tail: readonly MessageInit[], nth: number): NewEntry {
  const { messages, label } = tailMessages(tail, `${place.runId}/${place.step}`)
  const hash = hashJson(messages.map(({ role, content }) => ({ role, content: JSON.stringify(content) })))
  return newEntry(place, positionId(place.runId, place.step, 'tail', nth), { type: 'tail', hash, label })
}
