import type { KnownKeys, MovedKeys } from '@provost/core'
import { ProvostError, checkForkOffers, checkOptions, isRecord } from '@provost/core'
import { checkModel } from '@provost/provider'

import type { ApprovalOptions } from '../options/approval-options.ts'
import type { ChatOptions } from '../options/chat-options.ts'
import type { ConsoleOptions } from '../options/console-options.ts'
import type { Limits } from '../options/limits.ts'
import type { RequestOptions } from '../options/request-options.ts'
import type { ServeOptions } from '../options/serve-options.ts'
import type { ServerOptions } from '../options/server-options.ts'
import type { Server } from '../options/server.ts'
import type { WorkOptions } from '../options/work-options.ts'
import type { WorkerOptions } from '../options/worker-options.ts'

const workKeys = {
  store: true,
  concurrency: true,
  pollMs: true,
  forks: true,
  engine: true,
} satisfies KnownKeys<WorkOptions>

const serverKeys = {
  agents: true,
  authenticate: true,
  authorize: true,
  approvals: true,
  operator: true,
  allowProviderOptions: true,
  exposeErrors: true,
  requestOptions: true,
  compression: true,
  context: true,
  origins: true,
  publicUrl: true,
  chat: true,
  console: true,
  memories: true,
  limits: true,
  onError: true,
  ...workKeys,
} satisfies KnownKeys<ServerOptions>

const toServe = 'Give it to serve(server, { … }).'
const toLimits = 'Put it into "limits".'

const limitKeys = {
  bodyBytes: true,
  chatBytes: true,
  waitingBytes: true,
  keptEvents: true,
  connections: true,
  runs: true,
  requestsPerMinute: true,
  sessions: true,
  remoteTools: true,
  remoteToolBytes: true,
  heartbeatMs: true,
} satisfies KnownKeys<Limits>

const movedServer: MovedKeys = {
  ...Object.fromEntries(Object.keys(limitKeys).map((name) => [name, toLimits])),
  agent: 'Name it "agents": a list.',
  port: toServe,
  hostname: toServe,
  host: toServe,
  keepAliveMs: toServe,
  stalledMs: toServe,
  auth: 'Name it "authenticate".',
  cors: 'Name it "origins": a list.',
  rateLimit: 'Write limits: { requestsPerMinute }.',
  maxBodySize: 'Write limits: { bodyBytes }.',
  principal: 'Return it from "authenticate".',
}

const requestKeys = { models: true, temperature: true, toolChoice: true } satisfies KnownKeys<RequestOptions>
const rangeKeys = { min: true, max: true } satisfies KnownKeys<
  object & Exclude<RequestOptions['temperature'], undefined>
>

function checkRequestOptions({ requestOptions }: Pick<ServerOptions, 'requestOptions'>, of: string): void {
  const where = `"requestOptions" of ${of}`
  checkOptions(requestOptions, requestKeys, where, { model: 'Name it "models": { name: model }.' })
  if (!isRecord(requestOptions)) return
  const { models, temperature } = requestOptions
  if (isRecord(temperature)) checkOptions(temperature, rangeKeys, `"temperature" of ${where}`)
  for (const [name, model] of Object.entries(models ?? {})) checkModel(model, `${JSON.stringify(name)} in ${where}`)
}

const chatKeys = { onDisconnect: true } satisfies KnownKeys<ChatOptions>

function checkChat({ chat }: ServerOptions): void {
  checkOptions(chat, chatKeys, '"chat" of createServer')
  const { onDisconnect = 'continue' } = chat ?? {}
  if (onDisconnect === 'continue' || onDisconnect === 'abort') return
  throw new ProvostError(
    'invalid-option',
    `"onDisconnect" in "chat" of createServer is ${JSON.stringify(onDisconnect)}.`,
    {
      hint: "Write 'continue' or 'abort'.",
    },
  )
}

const consoleKeys = { path: true, page: true, token: true } satisfies KnownKeys<ConsoleOptions>

function checkConsole({ console: given, authenticate }: ServerOptions): void {
  if (given === undefined || typeof given === 'boolean') return
  checkOptions(given, consoleKeys, '"console" of createServer')
  const { path, token } = given
  if (path !== undefined && !/^(?:\/[\w.~-]+)+$/u.test(path)) {
    throw new ProvostError('invalid-option', `"path" in "console" of createServer is ${JSON.stringify(path)}.`, {
      hint: "Write a path with a leading and without a trailing slash: '/console'.",
    })
  }
  if (token === undefined) return
  if (authenticate) {
    throw new ProvostError(
      'invalid-option',
      '"token" in "console" of createServer has no effect with "authenticate".',
      {
        hint: 'Leave "token" out: the console sends the credentials that "authenticate" accepts.',
      },
    )
  }
  if (typeof token === 'string' && token.length >= 16) return
  throw new ProvostError('invalid-option', '"token" in "console" of createServer has fewer than 16 characters.', {
    hint: 'Leave it out, and the server makes a random one.',
  })
}

function checkMemories({ memories }: ServerOptions): void {
  if (memories === undefined) return
  const isNamed = isRecord(memories) && !Array.isArray(memories)
  for (const [name, memory] of Object.entries(isNamed ? memories : { '': memories })) {
    const methods: readonly string[] = ['list', 'explain', 'forget']
    if (isNamed && isRecord(memory) && methods.every((method) => typeof memory[method] === 'function')) continue
    throw new ProvostError('invalid-option', `"memories" of createServer has no memory ${JSON.stringify(name)}.`, {
      hint: 'Write memories: { name: memory }, with what memory() of @provost/memory returns.',
    })
  }
}

const approvalKeys = { by: true, mayEdit: true, peers: true } satisfies KnownKeys<ApprovalOptions>

/** @throws ProvostError `unknown-option`, `invalid-option`, `invalid-options` */
export function checkServerOptions(options: ServerOptions): void {
  checkOptions(options, serverKeys, 'createServer', movedServer)
  if (isRecord(options.approvals)) checkOptions(options.approvals, approvalKeys, '"approvals" of createServer')
  checkWork(options, 'createServer')
  checkChat(options)
  checkConsole(options)
  checkMemories(options)
  checkOptions(options.limits, limitKeys, '"limits" of createServer')
  checkNumbers({ ...options.limits }, 'createServer')
}

const workerKeys = {
  agents: true,
  context: true,
  requestOptions: true,
  onError: true,
  ...workKeys,
} satisfies KnownKeys<WorkerOptions>

const movedWorker: MovedKeys = {
  agent: 'Name it "agents": a list.',
  limits: 'Write "concurrency". Other limits belong to createServer.',
  workers: 'Name it "concurrency".',
}

/** @throws ProvostError `unknown-option`, `invalid-option`, `invalid-options` */
export function checkWorkerOptions(options: WorkerOptions): void {
  checkOptions(options, workerKeys, 'createWorker', movedWorker)
  checkWork(options, 'createWorker')
}

/** Checks what a server and a worker have in common. */
function checkWork(options: WorkerOptions, where: string): void {
  const { agents, store, concurrency, pollMs } = options ?? {}
  if (!Array.isArray(agents)) {
    throw new ProvostError('invalid-option', `The option agents of ${where} is not a list.`, {
      hint: `Give ${where}({ agents: [agent], store }).`,
    })
  }
  const names = new Set(agents.map(({ name }) => name))
  if (agents.length === 0 || names.size < agents.length) {
    throw new ProvostError('invalid-option', `The option agents of ${where} is empty or has the same name twice.`, {
      hint: `Give ${where} at least one agent, each with a different name.`,
    })
  }
  if (!isRecord(store)) {
    throw new ProvostError('invalid-option', `The option store of ${where} is missing.`, {
      hint: 'Give it sqliteStore(path) or postgresStore(url).',
    })
  }
  checkRequestOptions(options, where)
  checkForkOffers(options.forks, `"forks" of ${where}`)
  checkNumbers({ concurrency, pollMs }, where)
}

function checkNumbers(numbers: Readonly<Record<string, number | undefined>>, where: string): void {
  for (const [name, limit] of Object.entries(numbers)) {
    // Written as `>= 0` so that NaN, which no value exceeds, is rejected too.
    if (limit === undefined || (typeof limit === 'number' && limit >= 0)) continue
    throw new ProvostError('invalid-option', `The option ${name} of ${where} is ${String(limit)}.`, {
      hint: 'Give 0 or a positive number.',
    })
  }
}

const closeKeys = { graceMs: true } satisfies KnownKeys<NonNullable<Parameters<Server['close']>[0]>>

/** @throws ProvostError `unknown-option` */
export function checkCloseOptions(options: unknown, where: string): void {
  checkOptions(options, closeKeys, where)
}

const serveKeys = {
  port: true,
  hostname: true,
  keepAliveMs: true,
  stalledMs: true,
} satisfies KnownKeys<ServeOptions>

/** @throws ProvostError `unknown-option`, `invalid-options` */
export function checkServeOptions(options: ServeOptions): void {
  checkOptions(options, serveKeys, 'serve', {
    host: 'Name it "hostname".',
    address: 'Name it "hostname".',
    limits: 'Give it to createServer.',
  })
}
