import type { ServerContext } from '@modelcontextprotocol/server'
import type { AgentStream } from '@provost/agent'
import type { Principal } from '@provost/core'
import { displayText, reasonText } from '@provost/core'
import { z } from 'zod'

import type { OperationSetup } from '../api/operation-setup.ts'
import { HttpError, isInternal, responseStatus } from '../http/http-error.ts'
import type { ServerOptions } from '../options/server-options.ts'
import type { LiveSession } from '../sessions/live-session.ts'
import type { SessionHost } from '../sessions/session-host.ts'

type Sdk = typeof import('@modelcontextprotocol/server')

const toolInput = z.object({
  input: z.string().min(1).describe('Task or question for the agent.'),
  sessionId: z
    .string()
    .max(200)
    .optional()
    .describe('Session id from an earlier result, to continue that conversation.'),
})

const toolOutput = z.object({
  sessionId: z.string().describe('Continues the conversation as `sessionId` of a later call.'),
  status: z.enum(['completed', 'suspended', 'aborted']),
})

/** What a call returns: its text, and the fields for programs. */
type Answer = z.output<typeof toolOutput> & { readonly text: string }

/**
 * Answers an MCP request over streamable HTTP, with each agent as a tool. A call is a run, and a later call can continue
 * its session. A client that asks for progress receives the steps and the calls of the run; one that cancels the call
 * stops the run. The result of a suspended run names what waits for a human: MCP clients cannot approve.
 *
 * @throws HttpError 404 if `@modelcontextprotocol/server` is not installed.
 */
export async function answerMcp(
  request: Request,
  principal: Principal,
  { agents }: Pick<ServerOptions, 'agents'>,
  setup: OperationSetup,
): Promise<Response> {
  const { createMcpHandler, McpServer } = await load()
  const handler = createMcpHandler(
    () => {
      const server = new McpServer({ name: 'provost', version: '1' })
      for (const { name, description = `Asks the agent ${name}.` } of agents) {
        server.registerTool(
          name,
          { description, inputSchema: toolInput, outputSchema: toolOutput },
          async (given, ctx) => {
            try {
              const { text, ...structuredContent } = await call(name, given, principal, setup, ctx)
              return { content: [{ type: 'text', text }], structuredContent }
            } catch (thrown) {
              if (isInternal(thrown)) setup.report(thrown, { request })
              const { message, hint = '' } = responseStatus(thrown).error
              return { content: [{ type: 'text', text: `${message} ${hint}`.trim() }], isError: true }
            }
          },
        )
      }
      return server
    },
    { keepAliveMs: setup.limits.heartbeatMs },
  )
  return handler.fetch(request)
}

async function call(
  agent: string,
  { input, sessionId }: z.output<typeof toolInput>,
  principal: Principal,
  { host, allow, accepting }: OperationSetup,
  { mcpReq }: ServerContext,
): Promise<Answer> {
  accepting()
  await allow(principal, sessionId === undefined ? { kind: 'run', agent } : { kind: 'send', sessionId })
  const admitted = host.admit(principal)
  const { live, stream } = await started(host, principal, agent, input, sessionId).finally(admitted)
  const cancel = (): void => void stream.abort()
  mcpReq.signal.addEventListener('abort', cancel, { once: true })
  const quiet = reportProgress(live, mcpReq)
  const { status, text, pending, error } = await stream.result.finally(() => {
    quiet()
    mcpReq.signal.removeEventListener('abort', cancel)
  })
  const session = `\n\n(session ${live.id})`
  if (status === 'completed') return { sessionId: live.id, status, text: `${text}${session}` }
  if (status === 'failed') {
    if (sessionId === undefined) await host.discard(live.id)
    const { code, message } = host.redaction.error(error.toJSON())
    throw new HttpError(400, { code, message: `${code}: ${message}` })
  }
  const waiting = pending.approvals.map((one) => `${displayText(one.toolName)} (${reasonText(one)})`).join(', ')
  const said = status === 'suspended' ? `It waits for a human: ${waiting || 'an answer'}.` : 'It was aborted.'
  return { sessionId: live.id, status, text: `${said}${session}` }
}

/** Reports the steps and the calls of a run to a client that asked for it. @returns stops reporting. */
function reportProgress({ feed }: LiveSession, { _meta, notify }: ServerContext['mcpReq']): () => void {
  const progressToken = _meta?.progressToken
  if (progressToken === undefined) return () => {}
  let progress = 0
  return feed.listen(({ event }) => {
    if (event.type !== 'step.start' && event.type !== 'tool.execute.start') return
    const message = event.type === 'step.start' ? `step ${event.step}` : displayText(event.toolName)
    // A client that has left receives nothing more; its run ends by the signal.
    notify({ method: 'notifications/progress', params: { progressToken, progress: ++progress, message } }).catch(
      () => {},
    )
  })
}

async function started(
  host: SessionHost,
  principal: Principal,
  agent: string,
  input: string,
  sessionId: string | undefined,
): Promise<{ live: LiveSession; stream: AgentStream<unknown> }> {
  const live = sessionId === undefined ? await host.begin(principal, { agent }) : await host.open(principal, sessionId)
  return { live, stream: host.start(live, input, {}) }
}

async function load(): Promise<Sdk> {
  try {
    return await import('@modelcontextprotocol/server')
  } catch {
    throw new HttpError(404, {
      code: 'not-installed',
      message: 'MCP is not available on this server.',
      hint: 'Install @modelcontextprotocol/server beside @provost/server.',
    })
  }
}
