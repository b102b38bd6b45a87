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
import type { ExecuteOptions, Orchestrator, StepRequest, OrchestratorCommand } from '../types/orchestrator.ts'
import type { ResolvedAgent } from '../types/resolved-agent.ts'
import type { CallState, RunProgress, SessionState } from '../types/session-state.ts'
import { narrowAnswer, applied } from './apply-answer.ts'
import { createCommandQueue } from './command-queue.ts'
import { orchestratorRun } from './orchestrator-run.ts'
import { orchestratorName } from './orchestrator.ts'
import type { ReplayCursor } from './replay-cursor.ts'
import { openReplayCursor, orchestratorMessageId } from './replay-cursor.ts'

/** A part of the loop. It yields the same asks, and returns a status if the run ended or was suspended. */
type Stretch<T = RunStatus | undefined> = AsyncGenerator<LoopAsk, T, LoopAnswers[keyof LoopAnswers]>

/** The state shared by all commands of one call of the orchestrator. */
interface OrchestratorTurn {
  readonly state: SessionState
  readonly agent: ResolvedAgent
  readonly cursor: ReplayCursor
  readonly index: number
  /** Returns a loop that starts at the end of the log. The log is its only state, so it can be dropped at any ask. */
  readonly defaultLoop: () => Loop
  /** Number of messages that the orchestrator has sent. */
  messageCount: number
  /** Number of messages sent since the model last answered. */
  messagesInARow: number
  /** The options of the step with the last answer. */
  step: StepRequest
}

/**
 * Runs the loop under an orchestrator. Each command runs a part of the loop. A command that the log already answers
 * reads its result from the log.
 *
 * @param defaultLoop returns the loop without an orchestrator.
 * @param stays returns whether the agent is still active.
 * @returns the status of the run, or undefined after a handoff.
 */
export async function* orchestrated(
  state: SessionState,
  agent: ResolvedAgent,
  orchestrator: Orchestrator,
  defaultLoop: () => Loop,
  signal: AbortSignal = new AbortController().signal,
  stays: () => boolean = () => true,
): Stretch {
  const { run } = state
  if (!run) return 'completed'
  if (isOver(run)) return run.status
  const cursor = openReplayCursor(state)
  // After each handoff another orchestrator runs: its message and memo keys must not collide with earlier ones.
  const first = run.handoffCount * mostTurns
  for (let index = first + 1; ; index++) {
    const commands = createCommandQueue()
    const turn: OrchestratorTurn = {
      state,
      agent,
      cursor,
      index,
      defaultLoop,
      messageCount: 0,
      messagesInARow: 0,
      step: {},
    }
    try {
      const called = async (): Promise<void> => orchestrator(orchestratorRun(agent, cursor, commands, index, signal))
      called().then(
        () => commands.add({ kind: 'returned' }),
        (thrown: unknown) => commands.add({ kind: 'threw', thrown }),
      )
      for (;;) {
        const command = await commands.take()
        if (command.kind === 'threw') throw command.thrown
        const status = yield* command.kind === 'returned' ? ended(turn) : granting(turn, command)
        if (status) return status
        if (!stays()) return undefined
        if (command.kind === 'returned') break
      }
    } finally {
      commands.close()
    }
  }
}

/** The most times that an orchestrator is called in one run. */
const mostTurns = 1_000_000

function isOver(run: RunProgress): run is RunProgress & { readonly status: 'completed' | 'failed' | 'aborted' } {
  return run.status !== 'running' && run.status !== 'suspended'
}

async function* granting(
  turn: OrchestratorTurn,
  command: Exclude<OrchestratorCommand, { kind: 'returned' | 'threw' }>,
): Stretch {
  switch (command.kind) {
    case 'model':
      return yield* grant(command.completion, answer(turn, command.options))
    case 'execute':
      return yield* grant(command.completion, results(turn, command.options))
    case 'say':
      return yield* grant(command.completion, saying(turn, command))
    case 'memo':
      return yield* grant(command.completion, memory(turn, command))
    case 'emit':
      // During replay the listeners have already received the event.
      if (turn.cursor.atEnd) yield { ask: 'emit', name: orchestratorName, data: command.data }
      return undefined
    default:
      return command satisfies never
  }
}

/** The outcome of a part of the loop: a value for the orchestrator, or the final status of the run. */
type StepOutcome<T> = { readonly value: T } | { readonly status: RunStatus }

/** Rejects the command if the orchestrator misused it; the run continues. An error of the driver ends the run. */
async function* grant<T>(granted: PromiseWithResolvers<T>, stretch: Stretch<StepOutcome<T>>): Stretch {
  let came: StepOutcome<T>
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

/** The most messages that an orchestrator may send without a model call in between. */
const mostSaidInARow = 100

class Misuse extends ProvostError {}

/** Gets the next answer of the model, from the log or from a model call. */
async function* answer(turn: OrchestratorTurn, options: StepRequest): Stretch<StepOutcome<Message>> {
  const { cursor, state } = turn
  turn.step = options
  turn.messagesInARow = 0
  const known = cursor.answer()
  if (known) return { value: known }
  const { run } = state
  if (run && hasAnswered(state)) {
    if (run.openCalls > 0) {
      throw new Misuse('tool-calls-pending', 'The model cannot be called while its tool calls have no results.', {
        hint: 'Call run.execute() first.',
      })
    }
    if (!options.tail?.length) {
      throw new Misuse('nothing-to-answer', 'The model has given its final answer, and no new message follows it.', {
        hint: 'Call run.say(…) first, give model() a tail, or return.',
      })
    }
    // The answer is not final after all. A replay with the same orchestrator reaches the same state.
    run.answer = undefined
  }
  const loop = turn.defaultLoop()
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

/** Returns whether the model has given an answer that counts, with or without tool calls. */
function hasAnswered(state: SessionState): boolean {
  const { run } = state
  return run !== undefined && !isOver(run) && (run.openCalls > 0 || run.answer !== undefined)
}

function lastAnswer(state: SessionState): Message {
  const message = state.run?.answer ?? state.messages.findLast(({ role }) => role === 'assistant')
  if (message) return message
  throw new ProvostError('unexpected', 'The model answered, but the log does not contain its answer.')
}

function requestWith({ agent }: OrchestratorTurn, request: ModelRequest, options: StepRequest): ModelRequest {
  const { tools, tail, model, tier, settings } = options
  const spec = model === undefined && tier === undefined ? undefined : chooseModel(model ?? agent.model, tier)
  return Object.create(request, {
    ...(tail && {
      tail: { value: [...request.tail, ...tail], enumerable: true },
      label: { value: joinLabels(request.label, tailMessages(tail, 'tail').label), enumerable: true },
    }),
    ...(tools && { tools: { value: namedTools(agent, tools), enumerable: true } }),
    ...(settings && { params: { value: { ...request.params, ...settings }, enumerable: true } }),
    ...(spec !== undefined && {
      model: { value: modelName(spec), enumerable: true },
      spec: { value: spec, enumerable: true },
    }),
  })
}

/** Gets the results of all open calls. */
async function* results(turn: OrchestratorTurn, options: ExecuteOptions): Stretch<StepOutcome<readonly ToolResult[]>> {
  const { cursor, agent } = turn
  const calls = [...(cursor.state.run?.calls.values() ?? [])]
  const from = cursor.offset
  if (!cursor.settled()) {
    const loop = turn.defaultLoop()
    let asked = await loop.next()
    while (!asked.done) {
      const ask = asked.value
      if (ask.ask === 'input' || ask.ask === 'model') break
      asked = await loop.next(ask.ask === 'decide' ? yield* decided(turn, ask.calls, options) : yield ask)
    }
    if (asked.done) return { status: asked.value }
  }
  return { value: resultsSince(turn, agent, calls, from) }
}

/** Asks for decisions only on calls that are selected and were offered. The others are skipped at once. */
async function* decided(
  { step }: OrchestratorTurn,
  calls: readonly ToolCall[],
  { only, reason = 'Skipped: not this one now.' }: ExecuteOptions,
): Stretch<readonly Authorization[]> {
  const runs = ({ callId }: ToolCall): boolean => only === undefined || only.includes(callId)
  const kept = calls.filter(runs)
  const judged = kept.length > 0 ? narrowAnswer('decide', yield { ask: 'decide', calls: kept }) : []
  const verdicts = new Map(kept.map(({ callId }, index) => [callId, judged[index]]))
  return calls.map((call): Authorization => {
    if (!runs(call)) return skipped(call, 'skipped', reason)
    const verdict = verdicts.get(call.callId)
    // After a crash the driver does not know which tools the step was offered.
    const offered = step.tools === undefined || step.tools.includes(call.tool.name)
    if (verdict && 'proceed' in verdict && !offered) {
      return skipped(call, 'error', `The tool ${call.tool.name} is not offered in this step.`)
    }
    return verdict ?? { deny: 'The driver gave no decision on this call.' }
  })
}

function skipped(call: ToolCall, outcome: 'skipped' | 'error', reason: string): Authorization {
  const { callId, tool, input, label } = call
  const output = { type: 'error-text', value: reason } as const
  return { result: { callId, tool, input, outcome, via: 'log', output, label }, by: orchestratorName }
}

function resultsSince(
  { cursor }: OrchestratorTurn,
  agent: ResolvedAgent,
  calls: readonly CallState[],
  from: number,
): readonly ToolResult[] {
  const made = new Map<string, ToolResult>()
  const byId = new Map(calls.map((call) => [call.part.callId, call]))
  for (let i = from; i < cursor.offset; i++) {
    const entry = cursor.log.entries[i]
    if (entry?.type !== 'call' || entry.op !== 'settled') continue
    const call = byId.get(entry.callId)
    if (!call) continue
    const { outcome, via, output, label, fields, details } = entry
    const { callId, tool, input } = toolCall(agent, call)
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

async function* saying(
  turn: OrchestratorTurn,
  { content, label }: Extract<OrchestratorCommand, { kind: 'say' }>,
): Stretch<StepOutcome<Message>> {
  const { cursor, state, index } = turn
  if ((cursor.state.run?.openCalls ?? 0) > 0) {
    throw new Misuse('tool-calls-pending', 'A message cannot be sent while tool calls have no results.', {
      hint: 'Call run.execute() first.',
    })
  }
  // An orchestrator that never calls the model meets no other limit, and would fill the log.
  if (++turn.messagesInARow > mostSaidInARow) {
    throw new Misuse('too-many-messages', `The orchestrator sent more than ${mostSaidInARow} messages in a row.`, {
      hint: 'Call run.model() in between, or send one message.',
    })
  }
  const key = `${index}.${++turn.messageCount}`
  const known = cursor.messageOf(key)
  if (known) return { value: known }
  const id = orchestratorMessageId(state, key)
  const place = placeOf(state)
  const message = messageOf({ content }, id, fillLabel(label, state.viewLabel), place.agent, 'orchestrator')
  yield* append(turn, newEntry(place, id, { type: 'message', message, via: 'system' }))
  return { value: message }
}

async function* memory(
  turn: OrchestratorTurn,
  { key, value }: Extract<OrchestratorCommand, { kind: 'memo' }>,
): Stretch<StepOutcome<Extract<OrchestratorCommand, { kind: 'memo' }>['value']>> {
  const { state } = turn
  yield* append(turn, newEntry(placeOf(state), `${key}/memo`, { type: 'memo', key, value }))
  return { value: state.memos.get(key) ?? value }
}

async function* append({ state }: OrchestratorTurn, entry: NewEntry): Stretch<void> {
  applied(state, [entry], yield { ask: 'append', entries: [entry] })
}

/** Ends the run after its orchestrator has returned, unless input is queued. */
async function* ended(turn: OrchestratorTurn): Stretch {
  const { cursor, agent } = turn
  if (nextAction(cursor.state) !== 'end') throw unfinished(agent, 'before the last answer of the model')
  if (agent.output && turn.step.output !== undefined) {
    throw unfinished(agent, "on an answer that was not asked to fit the agent's output")
  }
  if (cursor.nextInput()) return undefined
  // An answer that is followed by an error or an abort is requested again.
  const loop = turn.defaultLoop()
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
