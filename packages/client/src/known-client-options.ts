import type { Decisions, KnownKeys } from '@provost/core'
import { checkChoice, checkOptions } from '@provost/core'

import type {
  Client,
  ClientOptions,
  ClientSession,
  ClientSessionOptions,
  CompensateOptions,
  ExecuteOptions,
  FollowOptions,
  SendOptions,
} from './client-options.ts'
import type { ClientTool } from './client-tool.ts'

const clientKeys = {
  baseUrl: true,
  headers: true,
  fetch: true,
  reconnectMs: true,
} satisfies KnownKeys<ClientOptions>

/** @throws ProvostError `unknown-option`, `invalid-options` */
export function checkClientOptions(options: ClientOptions): void {
  checkOptions(options, clientKeys, 'createClient', {
    url: 'Name it "baseUrl".',
    baseURL: 'Name it "baseUrl".',
    token: 'Write headers: { authorization: `Bearer ${token}` }.',
    apiKey: 'Write headers: { authorization: `Bearer ${apiKey}` }.',
  })
}

const sessionKeys = { id: true, agent: true, messages: true, tools: true } satisfies KnownKeys<ClientSessionOptions>
const toolKeys = {
  name: true,
  description: true,
  input: true,
  timeoutMs: true,
  execute: true,
} satisfies KnownKeys<ClientTool>

/** @throws ProvostError `unknown-option` */
export function checkSessionOptions(options: ClientSessionOptions): void {
  checkOptions(options, sessionKeys, 'client.session', {
    sessionId: 'Name it "id".',
    onApproval: 'Give it to session.execute.',
    store: 'The server stores the sessions. Remove it.',
  })
  for (const tool of options.tools ?? []) {
    checkOptions(tool, toolKeys, `client tool ${JSON.stringify(tool.name)}`, {
      inputSchema: 'Name it "input".',
      parameters: 'Name it "input".',
      effect: 'The server gives client tools the effect egress. Remove it.',
      needsApproval: 'Ask in the "execute" function of the tool.',
    })
  }
}

const executeKeys = {
  signal: true,
  onAbort: true,
  onApproval: true,
  onBatch: true,
  onInput: true,
  maxSteps: true,
  model: true,
  temperature: true,
  toolChoice: true,
} satisfies KnownKeys<ExecuteOptions>

const onAborts = ['abort', 'leave'] as const

const movedExecute = {
  abortSignal: 'Name it "signal".',
  maxTurns: 'Name it "maxSteps".',
  stopWhen: 'Name it "maxSteps": the number of model calls that a run may take.',
}

/** @throws ProvostError `unknown-option`, `invalid-option` */
export function checkExecuteOptions(options: ExecuteOptions): void {
  checkOptions(options, executeKeys, 'session.execute', movedExecute)
  checkChoice(options.onAbort, onAborts, 'onAbort', 'session.execute')
}

/** @throws ProvostError `unknown-option`, `invalid-option` */
export function checkFollowOptions(options: FollowOptions): void {
  const { model: _, temperature: __, toolChoice: ___, ...shared } = executeKeys
  const known = { ...shared, lastEventId: true } satisfies KnownKeys<FollowOptions>
  checkOptions(options, known, 'session.follow', movedExecute)
  checkChoice(options.onAbort, onAborts, 'onAbort', 'session.follow')
}

const sendKeys = { to: true } satisfies KnownKeys<SendOptions>

/** @throws ProvostError `unknown-option` */
export function checkSendOptions(options: SendOptions | undefined, where: string): void {
  checkOptions(options, sendKeys, where, { mode: 'Call steer or followUp.' })
}

const abortKeys = { drain: true } satisfies KnownKeys<NonNullable<Parameters<ClientSession['abort']>[0]>>

/** @throws ProvostError `unknown-option` */
export function checkAbortOptions(options: unknown): void {
  checkOptions(options, abortKeys, 'session.abort')
}

const compensateKeys = { since: true, decisions: true } satisfies KnownKeys<CompensateOptions>

/** @throws ProvostError `unknown-option` */
export function checkCompensateOptions(options: CompensateOptions): void {
  checkOptions(options, compensateKeys, 'session.compensate', {
    agents: 'The agents of the server are known. Remove it.',
    onApproval: 'Call it again with "decisions".',
  })
  if (options.decisions) checkOptions(options.decisions, decisionKeys, 'session.compensate')
}

const decisionKeys = {
  approvals: true,
  batches: true,
  toolResults: true,
  uncertain: true,
  inputs: true,
} satisfies KnownKeys<Decisions>

/** Checks only the option names: the server validates the decisions. @throws ProvostError `unknown-option` */
export function checkDecisions(decisions: Decisions, where: 'session.resolve' | 'client.decide'): void {
  checkOptions(decisions, decisionKeys, where)
}

const listKeys = { after: true, limit: true } satisfies KnownKeys<NonNullable<Parameters<Client['sessions']>[0]>>

/** @throws ProvostError `unknown-option` */
export function checkListOptions(options: unknown): void {
  checkOptions(options, listKeys, 'client.sessions')
}
