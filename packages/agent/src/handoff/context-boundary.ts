import type { EntryOf, FilterDescriptor, Flow, Input, Json, Label, Message, RunResult, WaitAbout } from '@provost/core'
import { ProvostError, joinLabels, labelOf, scrubMessage, textOf, toErrorInfo, toJson } from '@provost/core'

import { stopIfAborted } from '../control/run-ending.ts'
import { applyFilter } from '../messages/apply-filter.ts'
import { messageOf } from '../messages/message.ts'
import { messagesOf } from '../messages/read-input.ts'
import { hashMessages, notReturned, opened, transferContext } from '../messages/transferred-context.ts'
import { readOutput } from '../prompt/structured-output.ts'
import { bridgeOf } from '../reducers/composite-reducer.ts'
import type { ResolvedAgent } from '../types/resolved-agent.ts'
import type { RunContext } from '../types/run-context.ts'
import type { CallState } from '../types/session-state.ts'
import type { FlowAuthorization } from './flow-hooks.ts'
import { authorizeFlow, isApproved, joined, refusedAnswer } from './flow-hooks.ts'
import { writeSummaries } from './summary.ts'

/** The line between the run of a composite and its children. */
export interface ContextBoundary {
  readonly scope: RunContext
  readonly call: CallState
  /** Runs `fn` once for each id; after a crash what it came to is there. */
  memo<T>(id: string, fn: () => Promise<T>): Promise<T>
  /** Waits for somebody outside. */
  wait(id: string, about: WaitAbout): Promise<Json>
}

/** A child, as it is seen from the line. */
export interface ContextTransfer {
  /** Of its run. */
  readonly id: string
  readonly agent: string
  readonly by: 'tool' | 'fanout'
}

/** What a child is given, and what its entry says of that. */
export interface Given {
  readonly input: Input
  readonly crossed?: Pick<EntryOf<'child', 'spawned'>, 'filter' | 'hash' | 'with'>
}

/** Something that did not cross. */
export interface Refused {
  readonly refused: ProvostError
}

/**
 * What crosses to a child: its input, and in front of it what a filter lets it have of the history. The `handoff` hooks
 * see all of it. Where nobody judges and nothing is filtered, it is the input as it is.
 */
export function filterForTransfer(
  boundary: ContextBoundary,
  child: ContextTransfer,
  input: Input,
  filter: FilterDescriptor | undefined,
): Given | Promise<Given | Refused> {
  const { scope, call } = boundary
  // What a handoff takes across was judged with it.
  if (call.errand || (!filter && scope.plan.hooks.handoff.length === 0)) return { input }
  return judgedInput(boundary, child, input, filter)
}

async function judgedInput(
  boundary: ContextBoundary,
  child: ContextTransfer,
  input: Input,
  filter: FilterDescriptor | undefined,
): Promise<Given | Refused> {
  const { scope, memo } = boundary
  const { id, agent } = child
  const verdict = async (): Promise<Opinion> => judgeInput(boundary, child, input, filter)
  const { denied, ask, ...crosses } =
    scope.plan.hooks.handoff.length === 0 ? await verdict() : await memo(`${id}/in`, verdict)
  if (denied) return refusedTo(agent, denied.message, denied.code)
  if (ask && !(await isApproved(ask, `What ${agent} is told`, waits(boundary, `${id}/wait/in`)))) {
    return refusedTo(agent, 'It was not approved.')
  }
  return inputFor(boundary, child, input, crosses)
}

type Opinion = FlowAuthorization & { readonly filter?: FilterDescriptor }

async function judgeInput(
  boundary: ContextBoundary,
  child: ContextTransfer,
  input: Input,
  filter: FilterDescriptor | undefined,
): Promise<Opinion> {
  const { scope, call } = boundary
  const { id, agent, by } = child
  let known: FilterDescriptor | undefined
  let history: readonly Message[] = []
  try {
    known = filter && (await writeSummaries(scope, `${id}/summary`, filter, () => crossable(scope)))
    if (known) history = transferContext(scope.state.view, noCalls, known).messages
  } catch (thrown) {
    stopIfAborted(scope)
    const { code, message } = toErrorInfo(thrown)
    return { denied: { code, message } }
  }
  const payload = [...history, ...taskOf(boundary, child, input)]
  const kind = by === 'tool' ? 'tool-in' : 'fanout-in'
  const flow = { kind, from: scope.state.agent, to: agent, payload, callId: call.part.callId } as const
  return { ...(known && { filter: known }), ...(await authorizeFlow(scope, flow, joined(payload), `${id}.given`)) }
}

function crossable({ state }: RunContext): readonly Message[] {
  return applyFilter({ kind: 'full' }, state.view)
}

const noCalls: ReadonlySet<string> = new Set()

/** The same whenever the composite is entered again: the history stands still as long as it runs. */
export function inputFor(
  boundary: ContextBoundary,
  child: ContextTransfer,
  input: Input,
  { filter, with: rewritten }: Pick<Opinion, 'filter' | 'with'>,
): Given {
  const { scope } = boundary
  if (!filter && !rewritten) return { input }
  const first = { id: `${child.id}/spawned`, at: scope.state.run?.startedAt ?? 0 }
  if (rewritten) {
    const crossed = { ...(filter && { filter }), hash: hashMessages(rewritten), with: rewritten }
    return { input: opened(rewritten, first), crossed }
  }
  const { messages, hash } = transferContext(scope.state.view, noCalls, filter ?? { kind: 'full' })
  return {
    input: [...opened(messages, first), ...taskOf(boundary, child, input)],
    crossed: { ...(filter && { filter }), hash },
  }
}

/** What the child is to do, under the label of all that the caller has read. The spawner has checked it before. */
function taskOf({ scope, call }: ContextBoundary, { id, agent }: ContextTransfer, input: Input): readonly Message[] {
  const label = joinLabels(call.label, bridgeOf(call).label)
  return messagesOf(input, `${id}.task`, { name: agent, allowSystemMessages: true }).map((message) => ({
    ...scrubMessage(scope.secrets.scrubber, message),
    label: joinLabels(labelOf(message), label),
  }))
}

/** Nobody who could approve has answered: that is no approval. */
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

function refusedTo(agent: string, reason: string, code: string = notReturned): Refused {
  const hint = 'Go on without it, or ask for something else.'
  return { refused: new ProvostError(code, `What ${agent} would be told does not cross: ${reason}`, { hint }) }
}

/** What a child said, as it comes back. */
export interface Answer {
  readonly payload: readonly Message[]
  /** A hook put it in place of what was said. */
  readonly rewritten: boolean
}

/** Lets what a child said come back: the `handoff` hooks see it first. */
export async function outputFrom(
  boundary: ContextBoundary,
  { id, agent, by }: ContextTransfer,
  payload: readonly Message[],
  label: Label,
): Promise<Answer | Refused> {
  const { scope, call, memo } = boundary
  const kind: Flow['kind'] = by === 'tool' ? 'tool-out' : 'fanout-out'
  const flow = { kind, from: agent, to: scope.state.agent, payload, callId: call.part.callId }
  const verdict = await memo(`${id}/out`, async () => authorizeFlow(scope, flow, label, `${id}.answer`))
  const { denied, with: rewritten, ask } = verdict
  if (denied) return { refused: refusedAnswer(agent, denied.message) }
  if (ask && !(await isApproved(ask, `What ${agent} answered`, waits(boundary, `${id}/wait/out`)))) {
    return { refused: refusedAnswer(agent, 'It was not approved.') }
  }
  return { payload: rewritten ?? payload, rewritten: rewritten !== undefined }
}

/** Whether anybody judges what comes back. */
export function isJudged({ scope, call }: ContextBoundary): boolean {
  return !call.errand && scope.plan.hooks.handoff.length > 0
}

/** A child's result, as the composite has it. */
export async function resultBack(
  boundary: ContextBoundary,
  child: ContextTransfer,
  plan: ResolvedAgent,
  result: RunResult<unknown>,
  label: Label,
  turns: boolean,
): Promise<RunResult<unknown>> {
  if (!isJudged(boundary)) return result
  // What it said on the way is not its answer: nobody has judged it.
  if (result.status !== 'completed') return Object.assign(reportOf(result, []), endOf(result))
  const answer = answerOf(child, result, label)
  const back = await outputFrom(boundary, child, turns ? turnsOf(result, answer) : [answer], label)
  if ('refused' in back) {
    return Object.assign(reportOf(result, []), { status: 'failed' as const, error: back.refused })
  }
  if (!back.rewritten) return result
  const { payload } = back
  const text = turns ? textOf(payload.at(-1) ?? answer) : payload.map((message) => textOf(message)).join('\n\n')
  const output = await readOutput(plan.output, text)
  return output
    ? Object.assign(reportOf(result, payload, text), { status: 'completed' as const, output: output.value })
    : Object.assign(reportOf(result, []), {
        status: 'failed' as const,
        error: refusedAnswer(child.agent, 'What a hook made of it is not what the agent answers with.'),
      })
}

function endOf(
  result: Exclude<RunResult<unknown>, { status: 'completed' }>,
): { status: 'failed'; error: ProvostError } | { status: 'aborted' | 'suspended' } {
  return result.status === 'failed' ? { status: 'failed', error: result.error } : { status: result.status }
}

function answerOf({ id, agent }: ContextTransfer, { output, messages }: RunResult<unknown>, label: Label): Message {
  const json = toJson(output)
  const last = messages.findLast(({ role }) => role === 'assistant')
  const content = typeof json === 'string' ? json : JSON.stringify(json)
  return { ...messageOf({ role: 'assistant', content }, `${id}.answer`, label, agent), createdAt: last?.createdAt ?? 0 }
}

/** All that it said in words, its answer last. */
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
    // Few want it, and it is not made for the others.
    get state() {
      return result.state
    },
    runId,
    sessionId,
  }
}
