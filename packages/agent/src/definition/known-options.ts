import type { Decisions, KnownKeys, MovedKeys } from '@provost/core'
import { ProvostError, checkChoice, checkOptions, isRecord } from '@provost/core'
import { checkModel, checkSettings } from '@provost/provider'

import type { AgentOptions, SessionBeginning } from '../types/agent.ts'
import type { ResumeOptions, RunOptions, Session, SessionOptions } from '../types/session.ts'
import type { AbortOptions } from '../types/stream.ts'
import { movedAgentKeys, movedRunKeys, movedSessionKeys } from './moved-options.ts'

const agentKeys = {
  name: true,
  description: true,
  instructions: true,
  model: true,
  tools: true,
  toolCollisions: true,
  handoffs: true,
  extensions: true,
  output: true,
  settings: true,
  secrets: true,
  runtime: true,
  store: true,
  leaseMs: true,
  maxSteps: true,
  orchestrator: true,
  maxParallelTools: true,
  convertToModel: true,
  reasoningRetention: true,
  resultReaders: true,
  prices: true,
  sendMode: true,
  allowSystemMessages: true,
  stateKey: true,
  hookTimeoutMs: true,
  hostBytes: true,
  logBytes: true,
} satisfies KnownKeys<AgentOptions>

/** @throws ProvostError `unknown-option` */
export function checkAgentOptions(options: unknown): void {
  // `resolveAgent` reports options that are not an object.
  if (isRecord(options)) checkOptions(options, agentKeys, 'createAgent', movedAgentKeys)
}

const runKeys = {
  session: true,
  sessionId: true,
  principal: true,
  signal: true,
  onApproval: true,
  onInput: true,
  model: true,
  settings: true,
  maxSteps: true,
  getSteering: true,
  getFollowUp: true,
  hostBytes: true,
  logBytes: true,
  context: true,
} satisfies KnownKeys<RunOptions & { readonly context?: unknown }>

const decisionKeys = {
  approvals: true,
  toolResults: true,
  uncertain: true,
  inputs: true,
} satisfies KnownKeys<Decisions>

const resumeKeys = { ...runKeys, ...decisionKeys } satisfies KnownKeys<ResumeOptions & { readonly context?: unknown }>

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
  if (options === undefined) return
  if (resumes) checkOptions(options, resumeKeys, where, movedRunKeys)
  else checkOptions(options, runKeys, where, movedToState)
  if (!isRecord(options)) return
  const { model, settings, maxSteps } = options
  if (model !== undefined) checkModel(model, where)
  checkSettings(settings, where)
  // Written as `!(a >= b)` so that NaN, which would mean no limit, is rejected.
  if (maxSteps !== undefined && !(typeof maxSteps === 'number' && maxSteps >= 1)) {
    throw new ProvostError('invalid-option', `The option maxSteps of ${where} is ${shown(maxSteps)}.`, {
      hint: 'Give a number from 1.',
    })
  }
  if (resumes) checkDecisions(options, where)
}

function shown(value: unknown): string {
  return typeof value === 'number' ? String(value) : `of type ${typeof value}`
}

const approvalKeys = {
  id: true,
  decision: true,
  by: true,
  reason: true,
  args: true,
  sticky: true,
  propose: true,
} satisfies KnownKeys<Item<'approvals'>>

const resultKeys = { callId: true, output: true, by: true } satisfies KnownKeys<Item<'toolResults'>>

const uncertainKeys = {
  callId: true,
  decision: true,
  output: true,
  by: true,
} satisfies KnownKeys<Item<'uncertain'>>

const inputKeys = { id: true, value: true } satisfies KnownKeys<Item<'inputs'>>

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

/**
 * Rejects decisions with unknown fields or choices: the run would continue to wait.
 *
 * @throws ProvostError `unknown-option`, `invalid-option`
 */
export function checkDecisions(decisions: unknown, where: string): void {
  if (!isRecord(decisions)) return checkOptions(decisions, decisionKeys, where)
  const { approvals, toolResults, uncertain, inputs } = decisions
  for (const [at, one] of listOf(approvals, 'approvals', where).entries()) {
    checkItem(one, approvalKeys, `approvals[${at}] of ${where}`, ['approve', 'deny'])
  }
  for (const [at, one] of listOf(toolResults, 'toolResults', where).entries()) {
    checkItem(one, resultKeys, `toolResults[${at}] of ${where}`)
  }
  for (const [at, one] of listOf(uncertain, 'uncertain', where).entries()) {
    checkItem(one, uncertainKeys, `uncertain[${at}] of ${where}`, ['retry', 'done', 'fail'])
  }
  for (const [at, one] of listOf(inputs, 'inputs', where).entries()) {
    checkItem(one, inputKeys, `inputs[${at}] of ${where}`)
  }
}

/** Rejects an object with anything but valid decisions. */
export function checkOnlyDecisions(decisions: unknown, where: string): void {
  checkOptions(decisions, decisionKeys, where, { decisions: 'Give its lists themselves.' })
  checkDecisions(decisions, where)
}

function listOf(value: unknown, name: string, where: string): readonly unknown[] {
  if (value === undefined) return []
  if (Array.isArray(value)) return value
  throw new ProvostError('invalid-options', `"${name}" of ${where} is not a list.`, { hint: `Write ${name}: [ … ].` })
}

function checkItem(
  item: unknown,
  known: Readonly<Record<string, true>>,
  where: string,
  words?: readonly string[],
): void {
  checkOptions(item, known, where, movedDecisions)
  if (!words) return
  const { decision }: Record<string, unknown> = isRecord(item) ? item : {}
  checkChoice(decision ?? null, words, 'decision', where)
}

const sessionKeys = {
  store: true,
  sendMode: true,
  principal: true,
  onApproval: true,
  onInput: true,
  extensions: true,
  context: true,
} satisfies KnownKeys<SessionOptions & { readonly context?: unknown }>

const beginningKeys = { id: true, messages: true } satisfies KnownKeys<SessionBeginning>

/** @throws ProvostError `unknown-option`, `invalid-option` */
export function checkSessionOptions(options: unknown, begins: boolean): void {
  const where = begins ? 'createSession' : 'resumeSession'
  const onlyNew = 'Give it to createSession.'
  if (begins) checkOptions(options, { ...sessionKeys, ...beginningKeys }, where, movedSessionKeys)
  else checkOptions(options, sessionKeys, where, { ...movedSessionKeys, id: onlyNew, messages: onlyNew })
  if (isRecord(options)) checkChoice(options['sendMode'], ['steer', 'queue'], 'sendMode', where)
}

const abortKeys = { drain: true, graceMs: true, onPendingApprovals: true } satisfies KnownKeys<AbortOptions>

/** @throws ProvostError `unknown-option`, `invalid-option` */
export function checkAbortOptions(options: AbortOptions | undefined, where: string): void {
  checkOptions(options, abortKeys, where)
  checkChoice(options?.onPendingApprovals, ['deny', 'hold', 'fail'], 'onPendingApprovals', where)
}

const sendKeys = {
  mode: true,
  signal: true,
  to: true,
} satisfies KnownKeys<NonNullable<Parameters<Session['send']>[1]>>

/** @throws ProvostError `unknown-option` */
export function checkSendOptions(options: unknown): void {
  checkOptions(options, sendKeys, 'session.send', {
    key: 'Call session.deliver(input, { key }).',
    maxSteps: 'Call session.deliver(input, { maxSteps }).',
    onApproval: 'Give it to createSession or resumeSession.',
  })
}

const deliverKeys = {
  mode: true,
  key: true,
  maxSteps: true,
  to: true,
} satisfies KnownKeys<NonNullable<Parameters<Session['deliver']>[1]>>

/** @throws ProvostError `unknown-option` */
export function checkDeliverOptions(options: unknown): void {
  checkOptions(options, deliverKeys, 'session.deliver', {
    signal: 'A delivery is stored and cannot be withdrawn. Call session.send(input, { signal }) instead.',
  })
}

const { session: _session, sessionId: _sessionId, ...streamKeys } = runKeys

/** @throws ProvostError `unknown-option`, `invalid-option`, `invalid-model` */
export function checkStreamOptions(options: unknown): void {
  const its = 'session.stream always uses its own session. Remove it.'
  const where = 'session.stream'
  checkOptions(options, streamKeys, where, { ...movedToState, session: its, sessionId: its })
  checkRunOptions(options, false, where)
}
