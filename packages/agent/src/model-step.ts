import { setTimeout as sleep } from 'node:timers/promises'

import type {
  Ask,
  ErrorClass,
  ErrorInfo,
  FailedAttempt,
  Label,
  Message,
  MessageInit,
  ModelFailure,
  ModelSpec,
  NewEntry,
  OneModel,
  OpOf,
  Part,
  Usage,
} from '@provost/core'
import { isPromise, joinLabels, labelOf, positionId, scrubParts, toErrorInfo, untrustedLabel } from '@provost/core'
import type { AnyModel, ModelAnswer } from '@provost/provider'
import {
  callModel,
  chooseModel,
  costOf,
  modelName,
  resolveModel,
  retryDelayMs,
  withCachePoints,
} from '@provost/provider'
import { jsonSchemaOf } from '@provost/tools'

import type { AgentPlan } from './agent-plan.ts'
import { answeredEntry } from './answer-entries.ts'
import { aroundModel } from './around-model.ts'
import { hashJson, newEntry, placeOf } from './entry.ts'
import type { Place } from './entry.ts'
import { knowing } from './hook-context.ts'
import { tailMessages } from './input.ts'
import { joinAsks } from './join-asks.ts'
import type { LoopAnswers, Repair } from './loop.ts'
import { messageOf } from './message-init.ts'
import type { PreparedRequest } from './model-request.ts'
import { prepareRequest, sentLabel } from './model-request.ts'
import type { StepRequest } from './orchestrator/orchestrator.ts'
import { checkOutput } from './output.ts'
import type { PieceEvents } from './piece-events.ts'
import { pieceEvents } from './piece-events.ts'
import { next } from './position.ts'
import { promptFor } from './run-prompt.ts'
import { heedAbort, hookFailed, RunEnding, stopped } from './run-scope.ts'
import type { RunScope } from './run-scope.ts'
import { tierOf } from './step-model.ts'
import { cutView } from './view-edit.ts'

/** However often hooks ask for another attempt, a step ends. */
const mostAttempts = 20

/**
 * Asks the model for one step: the view is cut, the request prepared, attempts are made until one answers or none may
 * follow, and the answer is judged.
 */
export async function askModel(scope: RunScope, options: StepRequest = {}): Promise<LoopAnswers['model']> {
  const { state, journal, plan } = scope
  heedAbort(scope)
  const run = state.run
  scope.step = (run?.step ?? 0) + (next(state) === 'model' ? 0 : 1)
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
    const tried = await attempt(scope, model, request, options)
    if (tried.answer.ok) return judgeAnswer(scope, place, tried, tried.answer, options, request.hold)
    const failed = await discard(scope, place, tried, tried.answer, spec, failures)
    if (tried.answer.aborted) throw new RunEnding('aborted')
    const remedy: Remedy = tries < mostAttempts ? await remedyFor(scope, failed, tried, request) : { kind: 'none' }
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
      journal.emit('agent.model.fellback', { from: name, to: modelName(model), class: failed.class }, scope.step)
    } else if (remedy.kind === 'retry') {
      const { afterMs } = remedy
      journal.emit(
        'agent.model.retried',
        { model: name, attempt: scope.attempt, afterMs, class: failed.class },
        scope.step,
      )
      // An abort ends the wait; the next attempt then ends at once.
      await sleep(afterMs, undefined, { signal: scope.signal }).catch(() => {})
    } else {
      scope.trigger = 'overflow'
      await cutView(scope, place)
      request = await prepareRequest(scope, options)
      if (request.tail.length > 0) await journal.append([tailEntry(place, request.tail, scope.attempt + 1)])
    }
    scope.attempt++
    heedAbort(scope)
  }
}

/** Somebody asked for it: should it fail, it is theirs to hear of, and the run goes on. */
async function cutByHand(scope: RunScope, place: Place, asked: PromiseWithResolvers<void>): Promise<void> {
  scope.trigger = 'manual'
  try {
    await cutView(scope, place)
    asked.resolve()
  } catch (thrown) {
    heedAbort(scope)
    asked.reject(thrown)
  }
}

function tailEntry(place: Place, tail: readonly MessageInit[], nth: number): NewEntry {
  const { messages, label } = tailMessages(tail, `${place.runId}/${place.step}`)
  const hash = hashJson(messages.map(({ role, content }) => ({ role, content: JSON.stringify(content) })))
  return newEntry(place, positionId(place.runId, place.step, 'tail', nth), { type: 'tail', hash, label })
}

/** One attempt and what came of it. */
interface Tried {
  readonly model: AnyModel
  readonly message: Message
  readonly answer: ModelAnswer
  /** The join over all that was sent. */
  readonly sent: Label
  readonly pieces: PieceEvents
}

async function attempt(
  scope: RunScope,
  model: AnyModel,
  request: PreparedRequest,
  { output }: StepRequest,
): Promise<Tried> {
  // A model may call by name what it was not shown this time.
  scope.offered = request.offered
  scope.promoted = request.promoted
  const { plan, id, step } = scope
  const messageId = positionId(id, step, 'message', scope.attempt)
  const key = `${id}/${step}`
  const tail = request.tail.length > 0 ? tailMessages(request.tail, key) : undefined
  const label = tail ? joinLabels(scope.state.viewLabel, tail.label) : scope.state.viewLabel
  const sent = sentLabel(scope, request.tail)
  const prompt = promptFor(scope, modelName(model))
  const pieces = pieceEvents(scope, messageId, request.hold)
  // Whatever ends the run from here on ends this message too.
  scope.partial = {
    id: messageId,
    role: 'assistant',
    content: [],
    label,
    agent: scope.state.agent,
    createdAt: Date.now(),
  }
  const responseFormat = output === undefined ? plan.responseFormat : formatOf(output)
  const call = (): Promise<ModelAnswer> =>
    callModel(
      {
        model,
        ...withCachePoints({
          model,
          prompt: prompt.build(tail?.messages),
          settings: request.settings,
          lasting: prompt.length,
          key: scope.sessionId,
        }),
        label: sent,
        tools: request.tools,
        ...(responseFormat && { responseFormat }),
        signal: scope.signal,
        callId: (index) => positionId(id, step, 'call', index),
        ...(plan.toolName && { toolName: plan.toolName }),
      },
      pieces.emit,
    )
  const op: OpOf<'model'> = {
    kind: 'model',
    id: messageId,
    parent: key,
    step,
    model: modelName(model),
    attempt: scope.attempt,
    settings: request.settings,
  }
  const given = await aroundModel(scope, op, call)
  // Arguments are hashed, judged and logged as tokens: only the executor makes values of them.
  const parts = scrubParts(scope.secrets.scrubber, given.parts)
  const answer = parts === given.parts ? given : { ...given, parts }
  const message = said(scope.state.agent, messageId, label, parts)
  // Should the run be ended before the answer counts, this much was said; what is held back is nobody's to read yet.
  if (parts.length > 0 && !request.hold) scope.partial = message
  return { model, message, answer, sent, pieces }
}

/** What a step is asked for instead of the agent's output. */
function formatOf(output: NonNullable<StepRequest['output']>): AgentPlan['responseFormat'] {
  return output === 'text' ? undefined : { schema: jsonSchemaOf(output), name: 'output' }
}

/** Logs an attempt that failed: it was paid for too. */
async function discard(
  scope: RunScope,
  place: Place,
  tried: Tried,
  answer: Extract<ModelAnswer, { ok: false }>,
  spec: OneModel,
  failures: FailedAttempt[],
): Promise<ModelFailure> {
  const model = modelName(tried.model)
  const { fault, parts, usage } = answer
  await scope.journal.append([
    newEntry(place, positionId(scope.id, scope.step, 'attempt', scope.attempt), {
      type: 'attempt',
      attempt: scope.attempt,
      model,
      usage,
      ...costEntry(scope, usage, model),
      outcome: 'discarded',
      class: fault.class,
    }),
  ])
  failures.push({ model, spec, class: fault.class, message: fault.message })
  const known = toErrorInfo(answer.error, fault.class)
  return {
    class: fault.class,
    model,
    attempt: scope.attempt,
    error: answer.effects
      ? { ...known, message: fault.message, hint: afterEffects, retryable: false }
      : { hint: remedies[fault.class], ...known, message: fault.message, retryable: fault.retryable },
    ...(parts.length > 0 && { partial: { ...tried.message, partial: true } }),
    effects: answer.effects,
    ...(fault.retryAfterMs !== undefined && { retryAfterMs: fault.retryAfterMs }),
    label: tried.sent,
    tried: [...failures],
  }
}

/** What a person can do where trying again did not help. */
const remedies: Readonly<Record<ErrorClass, string>> = {
  'rate-limit': 'Wait, spread the calls, or ask the provider for more.',
  capacity: 'Try again later, or use another model.',
  'context-length': 'Send less: cut the history or the results of tools.',
  network: 'Check the connection and the address of the provider, then resume the run.',
  timeout: 'Raise settings.stallMs or settings.timeoutMs, or use a faster model.',
  auth: 'Check the API key of the provider and what it may be used for.',
  'invalid-request': 'The provider refused the request: its message says why.',
  'content-filter': 'The provider filtered the content: rephrase it, or use another model.',
  unknown: 'The cause of the error tells more.',
}

/** Where nobody tries again, because the provider would do it again. */
const afterEffects =
  'The provider ran a tool of its own before the failure: look at what it did before you run this again.'

function costEntry(scope: RunScope, usage: Usage, model: string): { cost?: number } {
  const cost = costOf(usage, model, scope.plan.prices)
  return cost === undefined ? {} : { cost }
}

/** Tells listeners that what they saw of this message does not count. */
function endDiscarded(scope: RunScope, { message: whole, pieces }: Tried, { hold }: PreparedRequest): void {
  scope.partial = undefined
  if (!pieces.begun()) return
  const message: Message = hold ? { ...whole, content: [] } : whole
  const payload = { messageId: message.id, attempt: scope.attempt, message, discarded: true as const }
  scope.journal.emit('message.end', payload, scope.step)
}

function said(agent: string, id: string, view: Label, spoken: readonly Part[]): Message {
  const [parts, label] = withProviderResults(spoken, view)
  const message = { id, role: 'assistant', content: parts, label, agent, createdAt: Date.now() } as const
  // Thoughts that led to nothing are no answer that a provider would take back.
  const last = parts.at(-1)?.type
  return last === 'reasoning' || last === 'reasoning-file' ? { ...message, partial: true } : message
}

/** What the provider's own tools found is no word of the model; what it said afterwards was said knowing it. */
function withProviderResults(parts: readonly Part[], view: Label): readonly [parts: readonly Part[], label: Label] {
  if (!parts.some((part) => part.type === 'tool-result')) return [parts, view]
  let label = view
  const labelled = parts.map((part) => {
    if (part.type !== 'tool-result') return part
    const own = joinLabels(untrustedLabel(part.toolName), view)
    label = joinLabels(label, own)
    return { ...part, label: own }
  })
  return [labelled, label]
}

type Remedy =
  | { readonly kind: 'retry'; readonly afterMs: number }
  | { readonly kind: 'model'; readonly model: ModelSpec }
  | { readonly kind: 'compact' }
  /** Nobody knows any: the step fails, with this error if a hook gave one. */
  | { readonly kind: 'none'; readonly error?: ErrorInfo }

/** What the first hook with an answer says, else the default: again, where that may help and does no harm. */
async function remedyFor(
  scope: RunScope,
  failure: ModelFailure,
  { answer }: Tried,
  request: PreparedRequest,
): Promise<Remedy> {
  let error: ErrorInfo | undefined
  for (const { extension, hook } of scope.plan.hooks['model.error']) {
    try {
      const advice = await hook(failure, knowing(scope, extension, failure.label))
      if (!advice) continue
      if ('retryAfterMs' in advice) return { kind: 'retry', afterMs: Math.max(0, advice.retryAfterMs) }
      if ('useModel' in advice) return { kind: 'model', model: advice.useModel }
      // Once a step: a view that cannot get smaller would be cut for ever.
      if ('compact' in advice && scope.trigger !== 'overflow') return { kind: 'compact' }
      if ('failAs' in advice) error ??= { ...advice.failAs, retryable: failure.error.retryable ?? false }
    } catch (thrown) {
      throw hookFailed(scope, extension.name, 'model.error', thrown)
    }
  }
  const none: Remedy = { kind: 'none', ...(error && { error }) }
  if (answer.ok || failure.effects || scope.attempt > (request.settings.maxRetries ?? 2)) return none
  const afterMs = retryDelayMs(answer.fault, scope.attempt)
  return afterMs === undefined ? none : { kind: 'retry', afterMs }
}

/** Lets the hooks and the output schema judge an answer. It was paid for, whatever becomes of it. */
async function judgeAnswer(
  scope: RunScope,
  place: Place,
  tried: Tried,
  answer: Extract<ModelAnswer, { ok: true }>,
  { output }: StepRequest,
  hold: PreparedRequest['hold'],
): Promise<LoopAnswers['model']> {
  const model = modelName(tried.model)
  const answered = {
    usage: answer.usage,
    finishReason: answer.finishReason,
    model,
    attempt: scope.attempt,
    ...costEntry(scope, answer.usage, model),
  }
  const spent = (): NewEntry => answeredEntry(scope.state, scope.plan, place, answered)
  // Whatever comes of the answer, it was paid for.
  scope.spent = spent
  const { message, repair, asks } = await judgeMessage(scope, tried.message, output === undefined)
  if (asks.length > 0 && !repair) return { ...answered, message, ask: joinAsks(asks) }
  // What was held back and does not do was never said.
  if (repair && hold) return { ...answered, message, repair, unsaid: true }
  tried.pieces.release(message)
  return repair ? { ...answered, message, repair } : { ...answered, message }
}

/** A message as all hooks left it, and what they said of it. */
interface Judged {
  readonly message: Message
  readonly repair?: Repair
  readonly asks: readonly Ask[]
}

/**
 * Every hook judges, each what those before it made of the answer; a repair goes before all asks.
 *
 * @param final whether an answer without calls may be the run's: then it has to fit the agent's output.
 */
async function judgeMessage(scope: RunScope, spoken: Message, final: boolean): Promise<Judged> {
  const asks: Ask[] = []
  let message = spoken
  let repair: Repair | undefined
  for (const { extension, hook } of scope.plan.hooks['model.response']) {
    try {
      const judged = await hook(message, knowing(scope, extension, labelOf(message)))
      if (!judged) continue
      if ('stop' in judged) throw stopped(judged)
      if ('ask' in judged) asks.push(judged.ask)
      else if ('repair' in judged) repair ??= { content: judged.repair }
      else message = messageOf({ role: 'assistant', ...judged.message }, message.id, message.label, message.agent)
    } catch (thrown) {
      throw hookFailed(scope, extension.name, 'model.response', thrown)
    }
  }
  if (!repair && final && scope.plan.output) repair = await checkOutput(scope, message)
  return { message, asks, ...(repair && { repair }) }
}
