import type { Message, ModelRequest, NewEntry, RunStatus, ToolCall, ToolResult } from '@provost/core'
import { ProvostError, fillLabel, joinLabels } from '@provost/core'
import { chooseModel, modelName } from '@provost/provider'

import { tailMessages } from '../inbox/enter-messages.ts'
import { messageOf } from '../messages/message.ts'
import { namedTools } from '../model/model-request.ts'
import { newEntry, placeOf } from '../state/entry.ts'
import { nextAction } from '../state/next-action.ts'
import { toolCall } from '../state/tool-call.ts'
import type { Authorization, Loop, LoopAnswers, LoopAsk } from '../types/loop.ts'
import type { ExecuteOptions, Orchestrator, StepRequest, Wish } from '../types/orchestrator.ts'
import type { ResolvedAgent } from '../types/resolved-agent.ts'
import type { CallState, RunProgress, SessionState } from '../types/session-state.ts'
import { answerTo, applied } from './apply-answer.ts'
import { createWishList } from './command-queue.ts'
import { orchestratorRun } from './orchestrator-run.ts'
import { orchestratorName } from './orchestrator.ts'
import type { ReplayCursor } from './replay-cursor.ts'
import { openReplayCursor, orchestratorMessageId } from './replay-cursor.ts'

/** A part of the loop: it asks as the whole does, and comes to a status where the run is over or pauses. */
type Stretch<T = RunStatus | undefined> = AsyncGenerator<LoopAsk, T, LoopAnswers[keyof LoopAnswers]>

/** What the wishes of one call of the orchestrator are granted from. */
interface Turn {
  readonly state: SessionState
  readonly plan: ResolvedAgent
  readonly past: ReplayCursor
  readonly nth: number
  /** The loop from where the log stands. It knows nothing but the log, so it can be left at any of its asks. */
  readonly alone: () => Loop
  /** Counts what the orchestrator has said. */
  said: number
  /** And since the model last answered. */
  saidInARow: number
  /** The step that the last answer was given in. */
  step: StepRequest
}

/**
 * The loop, led by an orchestrator: each of its wishes is a stretch of the loop that runs alone, or comes from the log
 * where the log knows it already.
 *
 * @param alone makes the loop without an orchestrator.
 * @param stays whether the agent is still the active one.
 * @returns undefined where it is not.
 */
export async function* orchestrated(
  state: SessionState,
  plan: ResolvedAgent,
  orchestrator: Orchestrator,
  alone: () => Loop,
  signal: AbortSignal = new AbortController().signal,
  stays: () => boolean = () => true,
): Stretch {
  const { run } = state
  if (!run) return 'completed'
  if (isOver(run)) return run.status
  const past = openReplayCursor(state)
  // Each agent that the run was handed to has an orchestrator of its own, which says and remembers its own things.
  const first = run.handoffs * mostTurns
  for (let nth = first + 1; ; nth++) {
    const wishes = createWishList()
    const turn: Turn = { state, plan, past, nth, alone, said: 0, saidInARow: 0, step: {} }
    try {
      const called = async (): Promise<void> => orchestrator(orchestratorRun(plan, past, wishes, nth, signal))
      called().then(
        () => wishes.add({ kind: 'returned' }),
        (thrown: unknown) => wishes.add({ kind: 'threw', thrown }),
      )
      for (;;) {
        const wish = await wishes.take()
        if (wish.kind === 'threw') throw wish.thrown
        const status = yield* wish.kind === 'returned' ? ended(turn) : granting(turn, wish)
        if (status) return status
        if (!stays()) return undefined
        if (wish.kind === 'returned') break
      }
    } finally {
      wishes.close()
    }
  }
}

/** More often than that no orchestrator is called in one run. */
const mostTurns = 1_000_000

function isOver(run: RunProgress): run is RunProgress & { readonly status: 'completed' | 'failed' | 'aborted' } {
  return run.status !== 'running' && run.status !== 'suspended'
}

async function* granting(turn: Turn, wish: Exclude<Wish, { kind: 'returned' | 'threw' }>): Stretch {
  switch (wish.kind) {
    case 'model':
      return yield* grant(wish.granted, answer(turn, wish.options))
    case 'execute':
      return yield* grant(wish.granted, results(turn, wish.options))
    case 'say':
      return yield* grant(wish.granted, saying(turn, wish))
    case 'memo':
      return yield* grant(wish.granted, memory(turn, wish))
    case 'emit':
      // What the log has gone past already was seen by those who saw it.
      if (turn.past.over) yield { ask: 'emit', name: orchestratorName, data: wish.data }
      return undefined
    default:
      return wish satisfies never
  }
}

/** What comes of a stretch: a value for the orchestrator, or the end of the run. */
type Came<T> = { readonly value: T } | { readonly status: RunStatus }

/** What an orchestrator did wrong is told to it, and it may go on. What the driver throws ends the run. */
async function* grant<T>(granted: PromiseWithResolvers<T>, stretch: Stretch<Came<T>>): Stretch {
  let came: Came<T>
  try {
    came = yield* stretch
  } catch (thrown) {
    if (!(thrown instanceof Misuse)) throw thrown
    granted.reject(thrown)
    return undefined
  }
  if ('status' in came) return came.status
  granted.resolve(came.value)
  return undefined
}

/** Messages that an orchestrator may put behind each other. */
const mostSaidInARow = 100

class Misuse extends ProvostError {}

/** One answer of the model. */
async function* answer(turn: Turn, options: StepRequest): Stretch<Came<Message>> {
  const { past, state } = turn
  turn.step = options
  turn.saidInARow = 0
  const known = past.answer()
  if (known) return { value: known }
  const { run } = state
  if (run && hasAnswered(state)) {
    if (run.openCalls > 0) {
      throw new Misuse('tool-calls-pending', 'The model cannot be asked while its calls have no results.', {
        hint: 'Call run.execute() first.',
      })
    }
    if (!options.tail?.length) {
      throw new Misuse('nothing-to-answer', 'The model has said its last word: there is nothing new to answer.', {
        hint: 'Call run.say(…) first, give model() a tail, or return.',
      })
    }
    // Not the last word after all. Whoever reads the log again comes to the same, with the same orchestrator.
    run.answer = undefined
  }
  const loop = turn.alone()
  let asked = await loop.next()
  while (!asked.done) {
    const ask = asked.value
    if (hasAnswered(state)) return { value: lastAnswer(state) }
    asked = await loop.next(
      yield ask.ask === 'model' ? { ...ask, request: requestWith(turn, ask.request, options), options } : ask,
    )
  }
  return { status: asked.value }
}

/** Whether the model has said what counts, and something has to be done about it or nothing at all. */
function hasAnswered(state: SessionState): boolean {
  const { run } = state
  return run !== undefined && !isOver(run) && (run.openCalls > 0 || run.answer !== undefined)
}

function lastAnswer(state: SessionState): Message {
  const message = state.run?.answer ?? state.messages.findLast(({ role }) => role === 'assistant')
  if (message) return message
  throw new ProvostError('unexpected', 'The model has answered, but its answer is not in the log.')
}

function requestWith({ plan }: Turn, request: ModelRequest, options: StepRequest): ModelRequest {
  const { tools, tail, model, tier, settings } = options
  const spec = model === undefined && tier === undefined ? undefined : chooseModel(model ?? plan.model, tier)
  return Object.create(request, {
    ...(tail && {
      tail: { value: [...request.tail, ...tail], enumerable: true },
      label: { value: joinLabels(request.label, tailMessages(tail, 'tail').label), enumerable: true },
    }),
    ...(tools && { tools: { value: namedTools(plan, tools), enumerable: true } }),
    ...(settings && { params: { value: { ...request.params, ...settings }, enumerable: true } }),
    ...(spec !== undefined && {
      model: { value: modelName(spec), enumerable: true },
      spec: { value: spec, enumerable: true },
    }),
  })
}

/** The results of all calls that are open. */
async function* results(turn: Turn, options: ExecuteOptions): Stretch<Came<readonly ToolResult[]>> {
  const { past, plan } = turn
  const calls = [...(past.state.run?.calls.values() ?? [])]
  const from = past.offset
  if (!past.settled()) {
    const loop = turn.alone()
    let asked = await loop.next()
    while (!asked.done) {
      const ask = asked.value
      if (ask.ask === 'input' || ask.ask === 'model') break
      asked = await loop.next(ask.ask === 'decide' ? yield* decided(turn, ask.calls, options) : yield ask)
    }
    if (asked.done) return { status: asked.value }
  }
  return { value: resultsSince(turn, plan, calls, from) }
}

/** Only those calls are judged that are to run and were offered: the others get their result at once. */
async function* decided(
  { step }: Turn,
  calls: readonly ToolCall[],
  { only, reason = 'Skipped: not this one now.' }: ExecuteOptions,
): Stretch<readonly Authorization[]> {
  const runs = ({ callId }: ToolCall): boolean => only === undefined || only.includes(callId)
  const kept = calls.filter(runs)
  const judged = kept.length > 0 ? answerTo('decide', yield { ask: 'decide', calls: kept }) : []
  const verdicts = new Map(kept.map(({ callId }, index) => [callId, judged[index]]))
  return calls.map((call): Authorization => {
    if (!runs(call)) return skipped(call, 'skipped', reason)
    const verdict = verdicts.get(call.callId)
    // After a crash the driver does not know any more what the step was offered.
    const offered = step.tools === undefined || step.tools.includes(call.tool.name)
    if (verdict && 'proceed' in verdict && !offered) {
      return skipped(call, 'error', `The tool ${call.tool.name} is not offered in this step.`)
    }
    return verdict ?? { deny: 'Nobody judged this call.' }
  })
}

function skipped(call: ToolCall, outcome: 'skipped' | 'error', reason: string): Authorization {
  const { callId, tool, input, label } = call
  const output = { type: 'error-text', value: reason } as const
  return { result: { callId, tool, input, outcome, via: 'log', output, label }, by: orchestratorName }
}

function resultsSince(
  { past }: Turn,
  plan: ResolvedAgent,
  calls: readonly CallState[],
  from: number,
): readonly ToolResult[] {
  const made = new Map<string, ToolResult>()
  const byId = new Map(calls.map((call) => [call.part.callId, call]))
  for (let i = from; i < past.offset; i++) {
    const entry = past.log.entries[i]
    if (entry?.type !== 'call' || entry.op !== 'settled') continue
    const call = byId.get(entry.callId)
    if (!call) continue
    const { outcome, via, output, label, fields, details } = entry
    const { callId, tool, input } = toolCall(plan, call)
    made.set(callId, {
      callId,
      tool,
      input,
      outcome,
      via,
      output,
      label,
      ...(fields && { fields }),
      ...(details !== undefined && { details }),
    })
  }
  return calls.flatMap((call) => made.get(call.part.callId) ?? [])
}

async function* saying(turn: Turn, { content, label }: Extract<Wish, { kind: 'say' }>): Stretch<Came<Message>> {
  const { past, state, nth } = turn
  if ((past.state.run?.openCalls ?? 0) > 0) {
    throw new Misuse('tool-calls-pending', 'Nothing can be said while calls have no results.', {
      hint: 'Call run.execute() first.',
    })
  }
  // A loop that never asks the model meets no other bound, and would fill the log.
  if (++turn.saidInARow > mostSaidInARow) {
    throw new Misuse('too-many-messages', `The orchestrator said more than ${mostSaidInARow} things in a row.`, {
      hint: 'Call run.model() in between, or say it in one message.',
    })
  }
  const key = `${nth}.${++turn.said}`
  const known = past.said(key)
  if (known) return { value: known }
  const id = orchestratorMessageId(state, key)
  const place = placeOf(state)
  const message = messageOf({ content }, id, fillLabel(label, state.viewLabel), place.agent)
  yield* append(turn, newEntry(place, id, { type: 'message', message, via: 'system' }))
  return { value: message }
}

async function* memory(
  turn: Turn,
  { key, value }: Extract<Wish, { kind: 'memo' }>,
): Stretch<Came<Extract<Wish, { kind: 'memo' }>['value']>> {
  const { state } = turn
  yield* append(turn, newEntry(placeOf(state), `${key}/memo`, { type: 'memo', key, value }))
  return { value: state.memos.get(key) ?? value }
}

async function* append({ state }: Turn, entry: NewEntry): Stretch<void> {
  applied(state, [entry], yield { ask: 'append', entries: [entry] })
}

/** The orchestrator has returned: the run ends, unless something was queued behind it. */
async function* ended(turn: Turn): Stretch {
  const { past, plan } = turn
  if (nextAction(past.state) !== 'end') throw unfinished(plan, 'before the last answer of the model')
  if (plan.output && turn.step.output !== undefined) {
    throw unfinished(plan, "on an answer that was not asked to fit the agent's output")
  }
  if (past.turned()) return undefined
  // An answer that an error or an abort stands behind is asked for again.
  const loop = turn.alone()
  let atEnd = false
  let asked = await loop.next()
  while (!asked.done) {
    const ask = asked.value
    if (atEnd && ask.ask === 'input') return undefined
    atEnd ||= ask.ask === 'input' && ask.at === 'end'
    asked = await loop.next(yield ask)
  }
  return asked.value
}

function unfinished({ name }: ResolvedAgent, where: string): ProvostError {
  return new ProvostError('orchestrator-unfinished', `The orchestrator of ${name} returned ${where}.`, {
    hint: "Execute what is open and ask the model once more; position is 'end' when its last answer stands.",
  })
}
