import type { CheckedKeys, Decisions, KnownKeys, MovedKeys, OptionCheck, RemoteError } from '@provost/core'
import { ProvostError, checkForkOffers, checkOptions, isRecord, oneOf } from '@provost/core'
import { checkModel, checkSettings } from '@provost/provider'
import { checkSessionId } from '@provost/sessions'

import type { AgentOptions, SessionBeginning } from '../types/agent.ts'
import type { CompensateOptions, ResumeOptions, RunOptions, Session, SessionOptions } from '../types/session.ts'
import type { AbortOptions } from '../types/stream.ts'
import { isAgent } from './agent-registry.ts'
import { checkStore } from './check-store.ts'
import { movedAgentKeys, movedRunKeys, movedSessionKeys } from './moved-options.ts'
import { atLeastOne, given, invalidOption, itemsOf, listOf, required } from './option-checks.ts'

const agentKeys = {
  name: true,
  description: true,
  instructions: true,
  model: true,
  tools: true,
  toolCollisions: true,
  handoffs: true,
  skills: true,
  extensions: true,
  output: true,
  settings: true,
  secrets: true,
  runtime: true,
  store: true,
  leaseMs: true,
  maxSteps: true,
  orchestrator: true,
  mode: true,
  maxParallelTools: true,
  convertToModel: true,
  reasoningRetention: true,
  resultReaders: true,
  prices: true,
  sendMode: true,
  followUps: true,
  getSteering: true,
  getFollowUp: true,
  allowSystemMessages: true,
  stateKey: true,
  hookTimeoutMs: true,
  version: true,
  whenChanged: true,
  hostBytes: true,
  logBytes: true,
} satisfies KnownKeys<AgentOptions>

/** @throws ProvostError `unknown-option` */
export function checkAgentOptions(options: unknown): void {
  // `resolveAgent` reports options that are not an object.
  if (isRecord(options)) checkOptions(options, agentKeys, 'createAgent', movedAgentKeys)
}

const followUps = oneOf('each', 'merge')
const sendMode = oneOf('steer', 'queue')

const streamKeys = {
  principal: true,
  signal: true,
  onApproval: true,
  onBatch: true,
  onInput: true,
  model: given(checkModel),
  settings: given(checkSettings),
  maxSteps: atLeastOne,
  getSteering: true,
  getFollowUp: true,
  followUps,
  hostBytes: true,
  logBytes: true,
  context: true,
} satisfies CheckedKeys<Omit<RunOptions, 'session' | 'sessionId'> & { readonly context?: unknown }>

const runKeys = { session: true, sessionId: given(checkSessionId), ...streamKeys } satisfies CheckedKeys<RunOptions>

type Item<K extends keyof Decisions> = NonNullable<Decisions[K]>[number]

const movedDecisions: MovedKeys = {
  approved: "Write decision: 'approve', or 'deny'.",
  approve: "Write decision: 'approve'.",
  deny: "Write decision: 'deny'.",
  approvalId: 'Name it "id".',
  token: 'Name it "id".',
  toolCallId: 'Name it "callId".',
  result: 'Name it "output".',
  input: 'Name it "args".',
  answer: 'Name it "value".',
}

const verdict = required('approve', 'deny')
const approvalKeys = {
  ...{ id: true, decision: verdict, by: true, reason: true, args: true, sticky: true, propose: true },
} satisfies CheckedKeys<Item<'approvals'>>
const batchKeys = {
  ...{ id: true, decision: verdict, by: true, reason: true, except: true, edits: true, propose: true },
} satisfies CheckedKeys<Item<'batches'>>
const resultKeys = { callId: true, output: true, error: true, by: true } satisfies KnownKeys<Item<'toolResults'>>
const uncertainKeys = {
  ...{ callId: true, decision: required('retry', 'done', 'fail'), output: true, by: true },
} satisfies CheckedKeys<Item<'uncertain'>>
const inputKeys = { id: true, value: true } satisfies KnownKeys<Item<'inputs'>>

const decisionKeys = {
  approvals: listOf(approvalKeys, movedDecisions),
  batches: listOf(batchKeys, movedDecisions, checkBatch),
  toolResults: listOf(resultKeys, movedDecisions, checkRemoteResult),
  uncertain: listOf(uncertainKeys, movedDecisions),
  inputs: listOf(inputKeys, movedDecisions),
} satisfies CheckedKeys<Decisions>

const acceptance: OptionCheck = (value, name, where) => {
  if (value === undefined || typeof value === 'boolean' || typeof value === 'string') return
  throw invalidOption(name, where, value, 'Give true, or the id of the change that is accepted.')
}

const resumeKeys = { ...runKeys, ...decisionKeys, acceptChanges: acceptance } satisfies CheckedKeys<ResumeOptions>

const inState = 'Pass the state of the run in place of an input: agent.run(result.state, { … }).'
const movedToState: MovedKeys = {
  ...movedRunKeys,
  ...Object.fromEntries(Object.keys(decisionKeys).map((name) => [name, inState])),
}

/**
 * Rejects unknown and invalid options of a run.
 *
 * @param resumes whether the run resumes from a state and takes decisions.
 * @throws ProvostError `unknown-option`, `invalid-option`, `invalid-model`
 */
export function checkRunOptions(options: unknown, resumes: boolean, where: string): void {
  if (resumes) checkOptions(options, resumeKeys, where, movedRunKeys)
  else checkOptions(options, runKeys, where, movedToState)
}

/** @throws ProvostError `unknown-option`, `invalid-option`, `invalid-model` */
export function checkStreamOptions(options: unknown): void {
  const its = 'session.stream always uses its own session. Remove it.'
  checkOptions(options, streamKeys, 'session.stream', { ...movedToState, session: its, sessionId: its })
}

/**
 * Rejects decisions with unknown fields or choices: the run would continue to wait.
 *
 * @throws ProvostError `unknown-option`, `invalid-option`, `invalid-options`
 */
export function checkDecisions(decisions: unknown, where: string): void {
  const known = where === 'session.resume' ? { ...decisionKeys, acceptChanges: acceptance } : decisionKeys
  checkOptions(decisions, known, where, { decisions: 'Give its lists themselves.' })
}

/** Rejects rows that are not named by a list and a record: a row that was meant to be struck would run. */
function checkBatch({ decision, except = [], edits = {} }: Readonly<Record<string, unknown>>, where: string): void {
  const strikes = itemsOf(except, 'except', where)
  if (!strikes.every((id) => typeof id === 'string') || !isRecord(edits)) {
    throw new ProvostError('invalid-options', `${isRecord(edits) ? '"except"' : '"edits"'} of ${where} is invalid.`, {
      hint: 'Write except: [approval.id] and edits: { [approval.id]: args }.',
    })
  }
  if (decision === 'approve' || strikes.length + Object.keys(edits).length === 0) return
  throw new ProvostError('invalid-options', `${where} denies the batch and has "except" or "edits".`, {
    hint: 'Write decision: \'approve\' with the rows to strike in "except", or deny without them.',
  })
}

const errorKeys = { message: true, code: true } satisfies KnownKeys<RemoteError>

/** Rejects a remote result that does not say how the call ended, or says it twice. */
function checkRemoteResult(result: Readonly<Record<string, unknown>>, where: string): void {
  const { output, error } = result
  if (error === undefined ? !('output' in result) : output !== undefined) {
    const what = error === undefined ? 'neither "output" nor "error"' : '"output" and "error"'
    throw new ProvostError('invalid-options', `${where} has ${what}.`, {
      hint: 'Write { callId, output } for a result, or { callId, error: { message, code? } } for a failure.',
    })
  }
  if (error === undefined) return
  checkOptions(error, errorKeys, `"error" of ${where}`)
  const { message, code = '' }: Record<string, unknown> = isRecord(error) ? error : {}
  const at = typeof message !== 'string' ? 'message' : typeof code !== 'string' ? 'code' : undefined
  if (at === undefined) return
  throw new ProvostError('invalid-options', `"${at}" in "error" of ${where} is not a text.`, {
    hint: "Write error: { message: 'the reason' }.",
  })
}

const agentList = given((value, where) => {
  if (Array.isArray(value) && value.every(isAgent)) return
  throw new ProvostError('invalid-option', `The option agents of ${where} is not a list of agents.`, {
    hint: 'Give agents that createAgent made.',
  })
})

const sessionKeys = {
  store: given(checkStore),
  sendMode,
  followUps,
  principal: true,
  onApproval: true,
  onBatch: true,
  onInput: true,
  extensions: true,
  overrides: given((value, where) => checkForkOffers(value, `"overrides" of ${where}`)),
  agents: agentList,
  context: true,
} satisfies CheckedKeys<SessionOptions & { readonly context?: unknown }>

const newSessionKeys = { ...sessionKeys, id: true, messages: true } satisfies CheckedKeys<
  SessionOptions & SessionBeginning & { readonly context?: unknown }
>

/** @throws ProvostError `unknown-option`, `invalid-option` */
export function checkSessionOptions(options: unknown, begins: boolean): void {
  const onlyNew = 'Give it to createSession.'
  if (begins) checkOptions(options, newSessionKeys, 'createSession', movedSessionKeys)
  else checkOptions(options, sessionKeys, 'resumeSession', { ...movedSessionKeys, id: onlyNew, messages: onlyNew })
}

const abortKeys = {
  drain: true,
  graceMs: true,
  onPendingApprovals: oneOf('deny', 'hold', 'fail'),
} satisfies CheckedKeys<AbortOptions>

/** @throws ProvostError `unknown-option`, `invalid-option` */
export function checkAbortOptions(options: AbortOptions | undefined, where: string): void {
  checkOptions(options, abortKeys, where)
}

const sendKeys = { mode: true, signal: true, to: true } satisfies KnownKeys<NonNullable<Parameters<Session['send']>[1]>>

/** @throws ProvostError `unknown-option` */
export function checkSendOptions(options: unknown): void {
  checkOptions(options, sendKeys, 'session.send', {
    key: 'Call session.deliver(input, { key }).',
    maxSteps: 'Call session.deliver(input, { maxSteps }).',
    onApproval: 'Give it to createSession or resumeSession.',
  })
}

const deliverKeys = { mode: true, key: true, maxSteps: true, to: true, data: true } satisfies KnownKeys<
  NonNullable<Parameters<Session['deliver']>[1]>
>

/** @throws ProvostError `unknown-option` */
export function checkDeliverOptions(options: unknown): void {
  checkOptions(options, deliverKeys, 'session.deliver', {
    signal: 'A delivery is stored and cannot be withdrawn. Call session.send(input, { signal }) instead.',
  })
}

const compensateKeys = {
  since: given(checkMoment),
  agents: true,
  onApproval: true,
  decisions: decisionsOf,
  signal: true,
} satisfies CheckedKeys<CompensateOptions>

/** @throws ProvostError `unknown-option`, `invalid-option` */
export function checkCompensateOptions(options: CompensateOptions): void {
  checkOptions(options, compensateKeys, 'session.compensate', {
    approve: 'Pass onApproval, or decisions with approvals.',
  })
}

function checkMoment(since: unknown, where: string): void {
  const isMoment =
    since instanceof Date ? !Number.isNaN(since.getTime()) : Number(since) >= 0 || typeof since === 'string'
  if (!isMoment)
    throw invalidOption('since', where, since, 'Give an offset in the log, the id of a message, or a Date.')
}

/** The check of an option with decisions. */
export function decisionsOf(decisions: unknown, name: string, where: string): void {
  checkDecisions(decisions, `"${name}" of ${where}`)
}
