import type { EntryOf, FilterDescriptor, Flow, Input, Json, Label, Message, RunResult, WaitAbout } from '@provost/core'
import { ProvostError, joinLabels, labelOf, scrubMessage, textOf, toErrorInfo, toJson } from '@provost/core'
import { applyFilter } from '@provost/sessions'

import { stopIfAborted } from '../control/run-ending.ts'
import { messageOf } from '../messages/message.ts'
import { messagesOf } from '../messages/read-input.ts'
import { hashMessages, notReturned, opened, transferContext } from '../messages/transferred-context.ts'
import { readOutput } from '../prompt/structured-output.ts'
import { compositeStateOf } from '../reducers/composite-reducer.ts'
import type { ResolvedAgent } from '../types/resolved-agent.ts'
import type { RunContext } from '../types/run-context.ts'
import type { CallState } from '../types/session-state.ts'
import type { RecordedAuthorization } from './flow-hooks.ts'
import { authorizeFlow, isApproved, joined, recordedAuthorization, refusedAnswer } from './flow-hooks.ts'
import { writeSummaries } from './summary.ts'

/** The boundary between the run of a composite and its children. */
export interface ContextBoundary {
  readonly ctx: RunContext
  readonly call: CallState
  /** Runs `fn` once for each id; after a crash its result is read from the log. */
  memo<T>(id: string, fn: () => Promise<T>): Promise<T>
  /** Waits for an answer from outside the process. */
  wait(id: string, about: WaitAbout): Promise<Json>
}

/** A child, as the boundary identifies it. */
export interface ContextTransfer {
  /** The id of its run. */
  readonly id: string
  readonly agent: string
  readonly by: 'tool' | 'fanout'
}

/** The input of a child, and the record of the transfer in its `spawned` entry. */
export interface ChildInput {
  readonly input: Input
  readonly transfer?: Pick<EntryOf<'child', 'spawned'>, 'filter' | 'hash' | 'with'>
}

/** A transfer that was refused. */
export interface RefusedTransfer {
  readonly refused: ProvostError
}

/**
 * Returns the input of a child, with the filtered history before it. The `handoff` hooks check all of it. Without hooks and
 * without a filter the input is returned unchanged.
 */
export function filterForTransfer(
  boundary: ContextBoundary,
  child: ContextTransfer,
  input: Input,
  filter: FilterDescriptor | undefined,
): ChildInput | Promise<ChildInput | RefusedTransfer> {
  const { ctx, call } = boundary
  // The context of a handoff was checked with the handoff.
  if (call.returnHandoff || (!filter && ctx.agent.hooks.handoff.length === 0)) return { input }
  return judgedInput(boundary, child, input, filter)
}

async function judgedInput(
  boundary: ContextBoundary,
  child: ContextTransfer,
  input: Input,
  filter: FilterDescriptor | undefined,
): Promise<ChildInput | RefusedTransfer> {
  const { ctx, memo } = boundary
  const { id, agent } = child
  const verdict = async (): Promise<InputAuthorization> => judgeInput(boundary, child, input, filter)
  const { denied, ask, ...crosses } =
    ctx.agent.hooks.handoff.length === 0 ? await verdict() : await memo(`${id}/in`, verdict)
  if (denied) return refusedTo(agent, denied.message, denied.code)
  if (ask && !(await isApproved(ask, `The input of ${agent}`, waits(boundary, `${id}/wait/in`)))) {
    return refusedTo(agent, 'It was not approved.')
  }
  return inputFor(boundary, child, input, crosses)
}

type InputAuthorization = RecordedAuthorization & { readonly filter?: FilterDescriptor }

async function judgeInput(
  boundary: ContextBoundary,
  child: ContextTransfer,
  input: Input,
  filter: FilterDescriptor | undefined,
): Promise<InputAuthorization> {
  const { ctx, call } = boundary
  const { id, agent, by } = child
  let known: FilterDescriptor | undefined
  let history: readonly Message[] = []
  try {
    known = filter && (await writeSummaries(ctx, `${id}/summary`, filter, () => crossable(ctx)))
    if (known) history = transferContext(ctx.state.view, noCalls, known).messages
  } catch (thrown) {
    stopIfAborted(ctx)
    const { code, message } = toErrorInfo(thrown)
    return { denied: { code, message } }
  }
  const payload = [...history, ...taskOf(boundary, child, input)]
  const kind = by === 'tool' ? 'tool-in' : 'fanout-in'
  const { callId } = call.part
  const flow = { kind, from: ctx.state.agent, to: agent, payload, callId, label: joined(payload) } as const
  const authorization = await authorizeFlow(ctx, flow, `${id}.given`)
  return { ...(known && { filter: known }), ...recordedAuthorization(authorization) }
}

function crossable({ state }: RunContext): readonly Message[] {
  return applyFilter({ kind: 'full' }, state.view)
}

const noCalls: ReadonlySet<string> = new Set()

/** Makes the input of a child. The result is the same on every resume: the history does not change while the composite runs. */
export function inputFor(
  boundary: ContextBoundary,
  child: ContextTransfer,
  input: Input,
  { filter, with: rewritten }: Pick<InputAuthorization, 'filter' | 'with'>,
): ChildInput {
  const { ctx } = boundary
  if (!filter && !rewritten) return { input }
  const first = { id: `${child.id}/spawned`, at: ctx.state.run?.startedAt ?? 0 }
  if (rewritten) {
    const transfer = { ...(filter && { filter }), hash: hashMessages(rewritten), with: rewritten }
    return { input: opened(rewritten, first), transfer }
  }
  const { messages, hash } = transferContext(ctx.state.view, noCalls, filter ?? { kind: 'full' })
  return {
    input: [...opened(messages, first), ...taskOf(boundary, child, input)],
    transfer: { ...(filter && { filter }), hash },
  }
}

/** Returns the task of a child, labelled with everything that the caller has read. The spawner has validated the input. */
function taskOf({ ctx, call }: ContextBoundary, { id, agent }: ContextTransfer, input: Input): readonly Message[] {
  const label = joinLabels(call.label, compositeStateOf(call).label)
  const { store } = ctx.agent
  return messagesOf(input, `${id}.task`, { name: agent, allowSystemMessages: true, store }).map((message) => ({
    ...scrubMessage(ctx.secrets.scrubber, message),
    label: joinLabels(labelOf(message), label),
  }))
}

/** Treats an expired wait as no approval. */
function waits({ wait }: ContextBoundary, id: string): (about: WaitAbout) => Promise<Json> {
  return async (about) => {
    try {
      return await wait(id, about)
    } catch (thrown) {
      if (toErrorInfo(thrown).code === 'wait-expired') return null
      throw thrown
    }
  }
}

function refusedTo(agent: string, reason: string, code: string = notReturned): RefusedTransfer {
  const hint = 'Continue without this agent, or ask for something else.'
  return { refused: new ProvostError(code, `The input of ${agent} was refused: ${reason}`, { hint }) }
}

/** The answer of a child, as the caller receives it. */
export interface Answer {
  readonly payload: readonly Message[]
  /** Whether a hook replaced the original answer. */
  readonly rewritten: boolean
}

/** Returns the answer of a child after the `handoff` hooks have checked it. */
export async function outputFrom(
  boundary: ContextBoundary,
  { id, agent, by }: ContextTransfer,
  payload: readonly Message[],
  label: Label,
): Promise<Answer | RefusedTransfer> {
  const { ctx, call, memo } = boundary
  const kind: Flow['kind'] = by === 'tool' ? 'tool-out' : 'fanout-out'
  const flow = { kind, from: agent, to: ctx.state.agent, payload, callId: call.part.callId, label }
  const verdict = await memo(`${id}/out`, async () =>
    recordedAuthorization(await authorizeFlow(ctx, flow, `${id}.answer`)),
  )
  const { denied, with: rewritten, ask } = verdict
  if (denied) return { refused: refusedAnswer(agent, denied.message) }
  if (ask && !(await isApproved(ask, `The answer of ${agent}`, waits(boundary, `${id}/wait/out`)))) {
    return { refused: refusedAnswer(agent, 'It was not approved.') }
  }
  return { payload: rewritten ?? payload, rewritten: rewritten !== undefined }
}

/** Whether `handoff` hooks check the answers of children. */
export function isJudged({ ctx, call }: ContextBoundary): boolean {
  return !call.returnHandoff && ctx.agent.hooks.handoff.length > 0
}

/** Returns the result of a child, as the composite receives it. */
export async function resultBack(
  boundary: ContextBoundary,
  child: ContextTransfer,
  agent: ResolvedAgent,
  result: RunResult<unknown>,
  label: Label,
  turns: boolean,
): Promise<RunResult<unknown>> {
  if (!isJudged(boundary)) return result
  // Messages of an unfinished child were not checked, so they are left out.
  if (result.status !== 'completed') return Object.assign(reportOf(result, []), endOf(result))
  const answer = answerOf(boundary.ctx, child, result, label)
  const back = await outputFrom(boundary, child, turns ? turnsOf(result, answer) : [answer], label)
  if ('refused' in back) {
    return Object.assign(reportOf(result, []), { status: 'failed' as const, error: back.refused })
  }
  if (!back.rewritten) return result
  const { payload } = back
  const text = turns ? textOf(payload.at(-1) ?? answer) : payload.map((message) => textOf(message)).join('\n\n')
  const output = await readOutput(agent.output, text)
  return output
    ? Object.assign(reportOf(result, payload, text), { status: 'completed' as const, output: output.value })
    : Object.assign(reportOf(result, []), {
        status: 'failed' as const,
        error: refusedAnswer(child.agent, 'The answer that a hook returned does not fit the output of the agent.'),
      })
}

function endOf(
  result: Exclude<RunResult<unknown>, { status: 'completed' }>,
): { status: 'failed'; error: ProvostError } | { status: 'aborted' | 'suspended' } {
  return result.status === 'failed' ? { status: 'failed', error: result.error } : { status: result.status }
}

function answerOf(
  ctx: RunContext,
  { id, agent }: ContextTransfer,
  { output, messages }: RunResult<unknown>,
  label: Label,
): Message {
  const json = toJson(output)
  const last = messages.findLast(({ role }) => role === 'assistant')
  const content = typeof json === 'string' ? json : JSON.stringify(json)
  const answer = messageOf({ role: 'assistant', content }, ctx.state.clock, `${id}.answer`, label, agent)
  return { ...answer, createdAt: last?.createdAt ?? 0 }
}

/** Returns all text turns of the child, its answer last. */
function turnsOf({ messages }: RunResult<unknown>, answer: Message): readonly Message[] {
  const said = messages.filter((message) => message.role === 'assistant' && textOf(message) !== '')
  const turns = applyFilter({ kind: 'stripToolCalls' }, said)
  return turns.length > 0 ? turns : [answer]
}

function reportOf(
  result: RunResult<unknown>,
  messages: readonly Message[],
  text = '',
): Omit<RunResult<unknown>, 'status' | 'output' | 'error'> {
  const { usage, cost, pending, runId, sessionId } = result
  return {
    text,
    messages,
    usage,
    ...(cost !== undefined && { cost }),
    pending,
    // Built on access: few callers read it.
    get state() {
      return result.state
    },
    runId,
    sessionId,
  }
}
