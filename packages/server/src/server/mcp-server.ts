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
  input: z.string().min(1).describe('What the agent is to do or to answer.'),
  sessionId: z.string().max(200).optional().describe('To go on with a conversation: what an earlier result named.'),
})

/**
 * The agents as tools of an MCP server, over streamable HTTP. A call is a run; its session can be gone on with. What waits
 * for a human says so: nobody approves anything over MCP.
 *
 * @throws HttpError 404 where `@modelcontextprotocol/server` is not installed.
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
      for (const { name } of agents) {
        const description = `Asks the agent ${name}.`
        server.registerTool(name, { description, inputSchema: toolInput }, async (given) => {
          try {
            const text = await call(name, given, principal, setup)
            return { content: [{ type: 'text', text }] }
          } catch (thrown) {
            if (isInternal(thrown)) setup.report(thrown, { request })
            const { message, hint = '' } = responseStatus(thrown).error
            return { content: [{ type: 'text', text: `${message} ${hint}`.trim() }], isError: true }
          }
        })
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
): Promise<string> {
  accepting()
  await allow(principal, sessionId === undefined ? { kind: 'run', agent } : { kind: 'send', sessionId })
  const admitted = host.admit(principal)
  const { live, stream } = await started(host, principal, agent, input, sessionId).finally(admitted)
  const { status, text, pending, error } = await stream.result
  const session = `\n\n(session ${live.id})`
  if (status === 'completed') return `${text}${session}`
  if (status === 'failed') {
    if (sessionId === undefined) await host.discard(live.id)
    const { code, message } = host.outward.error(error.toJSON())
    throw new HttpError(400, { code, message: `${code}: ${message}` })
  }
  const waiting = pending.approvals.map((one) => `${displayText(one.toolName)} (${reasonText(one)})`).join(', ')
  return `${status === 'suspended' ? `It waits for a human: ${waiting || 'an answer'}.` : 'It was aborted.'}${session}`
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
      message: 'This server does not speak MCP.',
      hint: 'Install @modelcontextprotocol/server beside @provost/server.',
    })
  }
}
