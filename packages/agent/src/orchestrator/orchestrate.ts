import type { Json, LabelInit, Message, MessageInit, RunStatus, ToolResult } from '@provost/core'
import { ProvostError, fillLabel, positionId } from '@provost/core'

import { failureOf } from '../control/failure-source.ts'
import { activeAgent } from '../handoff/active-agent.ts'
import { advance, beginStep, isOver, startStep } from '../loop/advance.ts'
import type { Loop } from '../loop/driver.ts'
import { messageOf } from '../messages/message.ts'
import { hashJson, newEntry, placeOf } from '../state/entry.ts'
import { nextAction } from '../state/next-action.ts'
import { toolCall } from '../state/tool-call.ts'
import { recordedResult } from '../state/tool-result.ts'
import type { ExecuteOptions, Orchestrator, StepRequest } from '../types/orchestrator.ts'
import { orchestratorName } from '../types/orchestrator.ts'
import type { ResolvedAgent } from '../types/resolved-agent.ts'
import type { CallState, SessionState } from '../types/session-state.ts'
import type { Outcome, TurnEnd } from './commands.ts'
import { createCommands } from './commands.ts'
import type { OrchestratorRequests } from './orchestrator-run.ts'
import { orchestratorRun } from './orchestrator-run.ts'
import type { ReplayCursor } from './replay-cursor.ts'
import { diverged, openReplayCursor, orchestratorMessageId } from './replay-cursor.ts'

/** One call of the orchestrator, and the state that its commands share. */
interface OrchestratorTurn {
  readonly loop: Loop
  readonly agent: ResolvedAgent
  readonly cursor: ReplayCursor
  readonly index: number
  /** Number of messages that the orchestrator has sent. */
  messageCount: number
  /** Number of messages sent since the model last answered. */
  messagesInARow: number
  /** The options of the step with the last answer. */
  step: StepRequest
}

/** The most times that an orchestrator is called in one run. */
const mostTurns = 1_000_000

/**
 * Runs the loop under the orchestrator of the active agent. Each of its commands advances the loop as far as it needs. A
 * command that the log already answers reads its result from the log.
 *
 * @returns the status of the run, or undefined after a handoff.
 */
export async function orchestrate(loop: Loop, orchestrator: Orchestrator): Promise<RunStatus | undefined> {
  const { run } = loop.state
  if (!run) return 'completed'
  if (isOver(run)) return run.status
  const agent = activeAgent(loop.entryAgent, loop.state)
  const cursor = openReplayCursor(loop.state)
  // After each handoff another orchestrator runs: its message and memo keys must not collide with earlier ones.
  const first = run.handoffCount * mostTurns
  for (let index = first + 1; ; index++) {
    const end = await callOrchestrator(
      { loop, agent, cursor, index, messageCount: 0, messagesInARow: 0, step: {} },
      orchestrator,
    )
    if (end !== 'again') return end === 'moved' ? undefined : end.status
  }
}

/** Calls the orchestrator once. */
async function callOrchestrator(turn: OrchestratorTurn, orchestrator: Orchestrator): Promise<TurnEnd> {
  const { loop, agent, cursor } = turn
  const commands = createCommands()
  const run = <T>(command: () => Promise<Outcome<T>>): Promise<T> =>
    commands.run(async () => {
      const outcome = await command()
      return 'value' in outcome && activeAgent(loop.entryAgent, loop.state) !== agent
        ? { ...outcome, end: 'moved' }
        : outcome
    })
  const requests: OrchestratorRequests = {
    model: (options) => run(() => answer(turn, options)),
    execute: (options) => run(() => results(turn, options)),
    say: (content, label) => run(() => say(turn, content, label)),
    callTool: (name, input, label) => run(() => callTool(turn, name, input, label)),
    memo: (key, value) => run(() => memo(turn, key, value)),
    emit: (event) =>
      void run(async () => {
        // During replay the listeners have already received the event.
        if (cursor.atEnd) loop.driver.emit({ name: orchestratorName, ...event })
        return { value: undefined }
      }),
  }
  const called = async (): Promise<void> =>
    orchestrator(orchestratorRun(agent, cursor, requests, turn.index, loop.signal))
  called().then(
    () => void commands.run(async () => ({ end: await finished(turn) })),
    (thrown: unknown) => void commands.run(() => Promise.reject(failureOfOrchestrator(agent, thrown))),
  )
  return commands.ended
}

function failureOfOrchestrator({ name }: ResolvedAgent, thrown: unknown): Error {
  const hint = 'Correct the orchestrator. An error that it throws ends the run.'
  const what = `The orchestrator of ${name}`
  return failureOf(thrown, { kind: 'orchestrator', name }, { code: 'orchestrator-failed', what, hint })
}

/** Advances the loop while a condition holds. Returns the status of a run that ended or was suspended meanwhile. */
async function advanceWhile(loop: Loop, holds: () => boolean): Promise<RunStatus | undefined> {
  while (holds()) {
    const status = await advance(loop)
    if (status) return status
  }
  return undefined
}

/** Gets the next answer of the model, from the log or from a model call. */
async function answer(turn: OrchestratorTurn, options: StepRequest): Promise<Outcome<Message>> {
  const { cursor } = turn
  turn.step = options
  turn.messagesInARow = 0
  const known = cursor.answer()
  if (known) return { value: known }
  const loop = { ...turn.loop, options }
  const { state } = loop
  const { run } = state
  if (run && run.openCalls > 0) {
    const hint = 'Call run.execute() first.'
    return misuse('tool-calls-pending', 'The model cannot be called while its tool calls have no results.', hint)
  }
  let status: RunStatus | undefined
  if (run && !isOver(run) && run.answer) {
    if (!options.tail?.length) {
      const hint = 'Call run.say(…) first, give model() a tail, or return.'
      return misuse('nothing-to-answer', 'The model has given its final answer, and no new message follows it.', hint)
    }
    // The answer is not final after all: the entries of the next step record it.
    status = await startStep(loop, run)
  }
  status ??= await advanceWhile(loop, () => !hasAnswered(state))
  return status ? { end: { status } } : { value: lastAnswer(state) }
}

/** Returns whether the model has given an answer that counts, with or without tool calls. */
function hasAnswered({ run }: SessionState): boolean {
  return run !== undefined && !isOver(run) && (run.openCalls > 0 || run.answer !== undefined)
}

function lastAnswer(state: SessionState): Message {
  const message = state.run?.answer ?? state.messages.findLast(({ role }) => role === 'assistant')
  if (message) return message
  throw new ProvostError('unexpected', 'The model answered, but the log does not contain its answer.')
}

/** Gets the results of all open calls. */
async function results(turn: OrchestratorTurn, options: ExecuteOptions): Promise<Outcome<readonly ToolResult[]>> {
  const { cursor, agent, step } = turn
  const calls = [...(cursor.state.run?.calls.values() ?? [])]
  const from = cursor.offset
  if (!cursor.settled()) {
    const loop = { ...turn.loop, options: step, execution: options }
    const status = await advanceWhile(loop, () => ['run-tools', 'wait'].includes(nextAction(loop.state)))
    if (status) return { end: { status } }
  }
  return { value: resultsSince(cursor, agent, calls, from) }
}

function resultsSince(
  { log, offset }: ReplayCursor,
  agent: ResolvedAgent,
  calls: readonly CallState[],
  from: number,
): readonly ToolResult[] {
  const made = new Map<string, ToolResult>()
  const byId = new Map(calls.map((call) => [call.part.callId, call]))
  for (let i = from; i < offset; i++) {
    const entry = log.entries[i]
    if (entry?.type !== 'call' || entry.op !== 'settled') continue
    const call = byId.get(entry.callId)
    if (!call) continue
    made.set(entry.callId, recordedResult(toolCall(agent, call), entry))
  }
  return calls.flatMap((call) => made.get(call.part.callId) ?? [])
}

/** The most messages that an orchestrator may send without a model call in between. */
const mostSaidInARow = 100

async function say(turn: OrchestratorTurn, content: string, label: LabelInit | undefined): Promise<Outcome<Message>> {
  const { cursor, loop, index } = turn
  const { state } = loop
  if ((cursor.state.run?.openCalls ?? 0) > 0) {
    const hint = 'Call run.execute() first.'
    return misuse('tool-calls-pending', 'A message cannot be sent while tool calls have no results.', hint)
  }
  // An orchestrator that never calls the model meets no other limit, and would fill the log.
  if (++turn.messagesInARow > mostSaidInARow) {
    const what = `The orchestrator sent more than ${mostSaidInARow} messages in a row.`
    return misuse('too-many-messages', what, 'Call run.model() in between, or send one message.')
  }
  const key = `${index}.${++turn.messageCount}`
  const known = cursor.messageOf(key)
  if (known) return { value: known }
  const id = orchestratorMessageId(state, key)
  const place = placeOf(state)
  const message = messageOf(
    { content },
    state.clock,
    id,
    fillLabel(label, state.viewLabel),
    place.agent,
    'orchestrator',
  )
  await loop.driver.append([newEntry(place, id, { type: 'message', message, via: 'system' })])
  return { value: message }
}

/** Calls a tool in a step of its own, from the log or by opening a call and executing it. */
async function callTool(
  turn: OrchestratorTurn,
  toolName: string,
  input: Json,
  label: LabelInit | undefined,
): Promise<Outcome<ToolResult>> {
  const { cursor, loop, index } = turn
  if ((cursor.state.run?.openCalls ?? 0) > 0) {
    const hint = 'Call run.execute() first.'
    return misuse('tool-calls-pending', 'A tool cannot be called while other tool calls have no results.', hint)
  }
  const key = `${index}.${++turn.messageCount}`
  turn.messagesInARow = 0
  const known = cursor.messageOf(key)
  if (known && !isCallOf(known, toolName, input)) throw diverged(loop.state)
  const status = known ? undefined : await openCall(loop, key, toolName, input, label)
  if (status) return { end: { status } }
  const outcome = await results({ ...turn, step: {} }, {})
  if (!('value' in outcome)) return outcome
  const [result] = outcome.value
  if (!result) throw new ProvostError('unexpected', `The log has no result of the orchestrator's call of ${toolName}.`)
  return { ...outcome, value: result }
}

/** Begins a step with a call of the orchestrator. Returns the status of a run that ended instead. */
async function openCall(
  loop: Loop,
  key: string,
  toolName: string,
  input: Json,
  label: LabelInit | undefined,
): Promise<RunStatus | undefined> {
  const { state, driver } = loop
  const { run } = state
  if (!run) return 'completed'
  const ended = await beginStep(loop, run)
  if (ended) return ended
  const place = { ...placeOf(state), step: run.step + 1 }
  const id = positionId(place.runId, place.step, 'saying', key)
  const callId = positionId(place.runId, place.step, 'call', 0)
  const part = { type: 'tool-call', callId, toolCallId: callId, toolName, input } as const
  const init: MessageInit = { role: 'assistant', content: [part] }
  const message = messageOf(init, state.clock, id, fillLabel(label, state.viewLabel), place.agent, 'orchestrator')
  await driver.append([newEntry(place, id, { type: 'message', message, via: 'system' })])
  return undefined
}

function isCallOf({ content: [part] }: Message, toolName: string, input: Json): boolean {
  return part?.type === 'tool-call' && part.toolName === toolName && hashJson(part.input) === hashJson(input)
}

async function memo({ loop }: OrchestratorTurn, key: string, value: Json): Promise<Outcome<Json>> {
  const { state, driver } = loop
  await driver.append([newEntry(placeOf(state), `${key}/memo`, { type: 'memo', key, value })])
  return { value: state.memos.get(key) ?? value }
}

/** Ends the run after its orchestrator has returned, unless input is queued. */
async function finished({ loop, cursor, agent, step }: OrchestratorTurn): Promise<TurnEnd> {
  if (nextAction(cursor.state) !== 'finish') throw unfinished(agent, 'before the last answer of the model')
  if (agent.output && step.output !== undefined) {
    throw unfinished(agent, "on an answer that was not asked to fit the agent's output")
  }
  if (cursor.nextInput()) return 'again'
  // An answer that is followed by an error or an abort is requested again.
  for (let atEnd = false; !atEnd;) {
    atEnd = nextAction(loop.state) === 'finish'
    const status = await advance(loop)
    if (status) return { status }
  }
  return 'again'
}

function unfinished(agent: ResolvedAgent, where: string): Error {
  const { name } = agent
  const error = new ProvostError('orchestrator-unfinished', `The orchestrator of ${name} returned ${where}.`, {
    hint: "Execute what is open and ask the model once more; position is 'finish' when its last answer stands.",
  })
  return failureOfOrchestrator(agent, error)
}

function misuse(code: string, message: string, hint: string): { readonly misuse: ProvostError } {
  return { misuse: new ProvostError(code, message, { hint }) }
}
