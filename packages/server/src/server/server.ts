import type { Principal } from '@provost/core'
import { clockOf, isRecord } from '@provost/core'
import type { Context } from 'hono'
import { Hono } from 'hono'
import { cors } from 'hono/cors'
import { routePath } from 'hono/route'
import type { z } from 'zod'

import type { A2aAgent } from '../a2a/a2a-card.ts'
import { answerA2a, answerCard } from '../a2a/a2a.ts'
import { agUiOperation } from '../ag-ui/ag-ui-operation.ts'
import { agentOperations } from '../api/agent-operations.ts'
import { checkApprovals } from '../approvals/approval-options.ts'
import { createApprover } from '../approvals/approver.ts'
import { createDecisionService } from '../approvals/decision-service.ts'
import { chatOperation } from '../chat/chat-operation.ts'
import { chatRoutes } from '../chat/chat-routes.ts'
import { completionOperation } from '../completions/completion-operation.ts'
import { modelRoutes } from '../completions/model-routes.ts'
import { memoryOperations } from '../console-memory/memory-operations.ts'
import { consoleOperations } from '../console/console-operations.ts'
import { createConnections } from '../http/connections.ts'
import { HttpError, errorResponse, isInternal } from '../http/http-error.ts'
import { isLocal, isRemote } from '../http/local-request.ts'
import { openApiOf } from '../http/openapi.ts'
import type { Operation } from '../http/operation.ts'
import { operation } from '../http/operation.ts'
import { createRate } from '../http/rate.ts'
import { jsonOf, textOf } from '../http/request-body.ts'
import { healthSchema, readySchema } from '../http/response-schema.ts'
import { answerMcp } from '../mcp/mcp.ts'
import { defaultLimits } from '../options/limits.ts'
import type { Action, ServerOptions } from '../options/server-options.ts'
import type { Server } from '../options/server.ts'
import { consoleAddress, consoleSetup, hasToken } from '../page/console-setup.ts'
import { addPageRoutes } from '../page/page-routes.ts'
import { responseRoutes } from '../responses/response-routes.ts'
import { localPrincipal } from '../sessions/ownership.ts'
import { checkCloseOptions, checkServerOptions } from './known-server-options.ts'
import { createProbe } from './probe.ts'
import { reporter } from './report.ts'
import { createSessionProcess, defaultConcurrency } from './session-process.ts'

/**
 * Creates a server of agents over one store. Any number of processes can serve the same sessions.
 *
 * @throws ProvostError `unknown-option`, `invalid-option`
 *
 * @example
 * const server = createServer({ agents: [desk], store: postgresStore(url), authenticate: (request) => userOf(request) })
 * await serve(server, { port: 8080, hostname: '0.0.0.0' })
 */
export function createServer(options: ServerOptions): Server {
  checkServerOptions(options)
  checkApprovals(options)
  const { authenticate, authorize, origins = [] } = options
  const report = reporter(options.agents, options.onError)
  const webConsole = consoleSetup(options)
  const limits = { ...defaultLimits, ...options.limits }
  const { host, start, close } = createSessionProcess({ ...options, limits }, report, (log) => connections.cut(log))
  const connections = createConnections(limits.connections)
  const rate = createRate(limits.requestsPerMinute, clockOf(options.store).elapsed)
  let closed: Promise<void> | undefined

  async function principalOf({ req: { raw: request }, env }: Context): Promise<Principal> {
    if (!authenticate) {
      if (!isRemote(request, env)) {
        if (webConsole?.token === undefined || hasToken(request, webConsole.token)) return localPrincipal
        throw tokenRequired()
      }
      throw new HttpError(403, {
        code: 'not-local',
        message: 'A server without `authenticate` answers only direct requests from its own machine.',
        hint: 'Give createServer an `authenticate`.',
      })
    }
    const principal = await authenticate(request)
    if (principal && typeof principal.id === 'string' && principal.id !== '') return principal
    throw new HttpError(
      401,
      {
        code: 'unauthenticated',
        message: 'The request has no valid credentials.',
        hint: 'Send the credentials that this server requires.',
      },
      { 'www-authenticate': 'Bearer' },
    )
  }

  const permits = async (principal: Principal, action: Action): Promise<boolean> =>
    !authorize || (await authorize(principal, action))

  async function allow(principal: Principal, action: Action): Promise<void> {
    if (await permits(principal, action)) return
    throw new HttpError(403, {
      code: 'forbidden',
      message: `The action ${action.kind} is not permitted for this principal.`,
      hint: 'Ask the operator of the server to permit it.',
    })
  }

  const approver = createApprover(options)
  const setup = {
    host,
    limits,
    connections,
    approver,
    decisionService: createDecisionService({ host, approver, authorized: authorize !== undefined, allow }),
    allow,
    permits,
    allowProviderOptions: options.allowProviderOptions ?? [],
    requestOptions: options.requestOptions ?? {},
    chat: options.chat ?? {},
    compression: options.compression ?? true,
    engine: options.engine?.name ?? 'none',
    storeKind: options.store.place?.().kind ?? 'other',
    concurrency: options.concurrency ?? defaultConcurrency,
    accepting(): void {
      if (closed) throw shuttingDown()
    },
    report,
  }

  const isReachable = createProbe(options.store)

  const operations: readonly Operation[] = [
    ...agentOperations(setup),
    chatOperation(setup),
    ...chatRoutes(setup),
    ...responseRoutes(setup),
    agUiOperation(setup),
    completionOperation(setup),
    ...modelRoutes(setup),
    ...consoleOperations(setup, authorize !== undefined),
    ...memoryOperations(setup, options.memories ?? {}, authorize !== undefined),
  ]
  const open: readonly Operation[] = [
    operation({
      method: 'get',
      path: '/health',
      operationId: 'health',
      summary: 'Reports that the process is alive.',
      success: 200,
      answer: healthSchema,
      handle: async () => Response.json({ status: 'ok' }),
    }),
    operation({
      method: 'get',
      path: '/ready',
      operationId: 'ready',
      summary: 'Reports that the server takes requests and its store answers.',
      success: 200,
      answer: readySchema,
      async handle() {
        if (closed) throw shuttingDown()
        const isReady = await isReachable()
        const running = host.running.size
        const room = isReady ? Math.max(0, setup.concurrency - host.occupied()) : 0
        const body = {
          status: isReady ? 'ready' : 'not-ready',
          store: isReady ? 'reachable' : 'unreachable',
          engine: setup.engine,
          running,
          room,
        }
        return Response.json(body, isReady ? {} : { status: 503, headers: { 'retry-after': '1' } })
      },
    }),
  ]

  const app = new Hono()
  app.onError((thrown, context) => {
    if (isInternal(thrown)) report(thrown, { request: context.req.raw })
    return errorResponse(thrown)
  })
  app.notFound(() =>
    errorResponse(
      new HttpError(404, {
        code: 'unknown-route',
        message: 'The path of the request is unknown.',
        hint: 'See /openapi.json.',
      }),
    ),
  )
  if (origins.length > 0) {
    const headers = ['authorization', 'content-type', 'idempotency-key', 'last-event-id', 'a2a-version']
    app.use(cors({ origin: [...origins], allowHeaders: headers, exposeHeaders: ['x-session-id', 'retry-after'] }))
  }
  const routes = new WeakMap<Request, string>()
  app.use(async (context, next) => {
    await next()
    const route = routePath(context, -1)
    if (!route.includes('*')) routes.set(context.req.raw, route.replaceAll(/:(\w+)/gu, '{$1}'))
    context.header('x-content-type-options', 'nosniff')
  })
  const describe = openApiOf([...operations, ...open], authenticate !== undefined)
  app.get('/openapi.json', () => Response.json(describe))

  function mount(one: Operation, secured: boolean): void {
    const path = one.path.replace(/\{(?:id|agent)\}/u, ':id')
    app.on(one.method.toUpperCase(), path, async (context) => {
      const request = context.req.raw
      let principal = localPrincipal
      if (secured) {
        checkOrigin(request)
        principal = await principalOf(context)
        const wait = rate.take(principal.id)
        if (wait > 0) throw tooFast(wait)
      }
      const query = one.query ? parse(one.query, context.req.query(), 'the query') : {}
      const body = one.body
        ? parse(one.body, await jsonOf(request, one.mostBytes ?? limits.bodyBytes), 'the body')
        : undefined
      return one.handle({ principal, request, id: context.req.param('id') ?? '', query, body })
    })
  }
  for (const one of operations) mount(one, true)
  for (const one of open) mount(one, false)
  /** Whether a page is this server's own: at its public address, or on this machine at a local one. */
  function isOwnOrigin(origin: string, request: Request): boolean {
    const given = URL.parse(origin)
    if (!given) return false
    if (options.publicUrl !== undefined && given.origin === new URL(options.publicUrl).origin) return true
    return isLocal(given.hostname) && isLocal(new URL(request.url).hostname)
  }

  /** A page of another origin must not write with the cookies of its visitor. Pages cannot set the header `authorization` of others. */
  function checkOrigin(request: Request): void {
    const { headers, method } = request
    if (!authenticate || method === 'GET' || !headers.has('cookie') || headers.has('authorization')) return
    const from = headers.get('origin')
    const isForeign =
      from === null
        ? headers.get('sec-fetch-site') === 'cross-site'
        : !origins.includes(from) && !isOwnOrigin(from, request) && !isSameHost(from, request)
    if (isForeign) throw foreignOrigin()
  }

  app.all('/mcp', async (context) => {
    const request = context.req.raw
    const origin = request.headers.get('origin')
    // A page of another origin must not act with its visitor's credentials.
    if (origin !== null && !origins.includes(origin) && !isOwnOrigin(origin, request)) throw foreignOrigin()
    const principal = await principalOf(context)
    const wait = rate.take(principal.id)
    if (wait > 0) throw tooFast(wait)
    const { url, method, headers, signal } = request
    const body = method === 'POST' ? await textOf(request, limits.bodyBytes) : undefined
    const whole = new Request(url, { method, headers, signal, ...(body !== undefined && { body }) })
    return answerMcp(whole, principal, options, setup)
  })
  const cardOf = async (context: Context, name: string | undefined): Promise<A2aAgent> => {
    if (!authenticate) await principalOf(context)
    const base = (options.publicUrl ?? new URL(context.req.url).origin).replace(/\/$/u, '')
    const agent = host.agentOf(name)
    return {
      name: agent.name,
      ...(agent.description !== undefined && { description: agent.description }),
      base,
      authenticated: authenticate !== undefined,
    }
  }
  app.get('/.well-known/agent-card.json', async (context) => answerCard(await cardOf(context, undefined)))
  app.get('/a2a/:agent/.well-known/agent-card.json', async (context) =>
    answerCard(await cardOf(context, context.req.param('agent'))),
  )
  app.post('/a2a/:agent', async (context) => {
    const request = context.req.raw
    const principal = await principalOf(context)
    const wait = rate.take(principal.id)
    if (wait > 0) throw tooFast(wait)
    const agent = await cardOf(context, context.req.param('agent'))
    return answerA2a(request, await jsonOf(request, limits.bodyBytes), agent, principal, setup)
  })
  for (const path of new Set([...operations, ...open].map((one) => one.path))) {
    const allowed = [...operations, ...open].flatMap((one) => (one.path === path ? [one.method.toUpperCase()] : []))
    app.all(path.replace(/\{(?:id|agent)\}/u, ':id'), () => {
      const error = {
        code: 'method-not-allowed',
        message: 'The path of the request does not support its method.',
        hint: `Use ${allowed.join(' or ')}.`,
      }
      return errorResponse(new HttpError(405, error, { allow: allowed.join(', ') }))
    })
  }

  if (webConsole) {
    const { pathname } = new URL(options.publicUrl ?? 'http://localhost')
    addPageRoutes(app, webConsole, pathname.replace(/\/+$/u, ''))
  }

  start()

  return {
    app,
    fetch: (request, env) => app.fetch(request, isRecord(env) ? env : {}),
    routeOf: (request) => routes.get(request),
    authenticated: authenticate !== undefined,
    consolePath: webConsole && consoleAddress(webConsole),
    async close(ending = {}) {
      checkCloseOptions(ending, 'server.close')
      const { graceMs = 5_000 } = ending
      closed ??= close(graceMs, () => connections.cut())
      return closed
    },
  }
}

/** Whether a page comes from the host that the request names, or that a proxy received it for. */
function isSameHost(origin: string, { url, headers }: Request): boolean {
  const host = URL.parse(origin)?.host
  return host !== undefined && (host === new URL(url).host || host === headers.get('x-forwarded-host'))
}

function parse(schema: z.ZodType, value: unknown, what: string): unknown {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const issues = result.error.issues
    .slice(0, 5)
    .map(({ path, message }) => `${path.map(String).join('.') || what}: ${message}`)
  throw new HttpError(400, {
    code: 'invalid-request',
    message: issues.join('; ').slice(0, 1_000),
    hint: 'See /openapi.json.',
  })
}

function tokenRequired(): HttpError {
  const error = {
    code: 'unauthenticated',
    message: 'A server with a console and without `authenticate` requires its token.',
    hint: 'Open `consoleUrl` of `serve`, or send `authorization: Bearer` with the token in it.',
  }
  return new HttpError(401, error, { 'www-authenticate': 'Bearer' })
}

function tooFast(seconds: number): HttpError {
  const error = {
    code: 'too-many',
    message: 'You have sent too many requests.',
    hint: `Wait ${seconds} s.`,
    retryable: true,
  }
  return new HttpError(429, error, { 'retry-after': String(seconds) })
}

function foreignOrigin(): HttpError {
  const error = {
    code: 'forbidden',
    message: 'Pages of this origin may not call this server.',
    hint: 'Name it in `origins`, or set `publicUrl` if it is a page of this server.',
  }
  return new HttpError(403, error)
}

function shuttingDown(): HttpError {
  const error = {
    code: 'shutting-down',
    message: 'This process is shutting down.',
    hint: 'Try again in a moment.',
    retryable: true,
  }
  return new HttpError(503, error, { 'retry-after': '1' })
}
