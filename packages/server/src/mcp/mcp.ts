import type { Principal } from '@provost/core'
import { z } from 'zod'

import type { OperationSetup } from '../api/operation-setup.ts'
import { HttpError, isInternal, responseStatus } from '../http/http-error.ts'
import type { ServerOptions } from '../options/server-options.ts'
import type { McpSdk } from './mcp-call.ts'
import { callAgent } from './mcp-call.ts'
import { toolStatuses } from './mcp-result.ts'

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
  status: z.enum(toolStatuses),
})

/**
 * Answers an MCP request over streamable HTTP, with each agent as a tool. A call is a run, and a later call can continue
 * its session. A client that asks for progress receives the steps and the calls of the run; one that cancels the call
 * stops the run. What waits for a human is asked of the client's user where `approvals.peers` is set and the client can
 * ask; otherwise the result names it.
 *
 * @throws HttpError 404 if `@modelcontextprotocol/server` is not installed.
 */
export async function answerMcp(
  request: Request,
  principal: Principal,
  { agents }: Pick<ServerOptions, 'agents'>,
  setup: OperationSetup,
): Promise<Response> {
  const sdk = await load()
  const handler = sdk.createMcpHandler(
    () => {
      const server = new sdk.McpServer({ name: 'provost', version: '1' })
      for (const { name, description = `Asks the agent ${name}.` } of agents) {
        server.registerTool(
          name,
          { description, inputSchema: toolInput, outputSchema: toolOutput },
          async (given, ctx) => {
            try {
              return await callAgent({ sdk, agent: name, principal, setup, mcpReq: ctx.mcpReq }, given)
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

async function load(): Promise<McpSdk> {
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
