import { createMCPClient, ElicitationRequestSchema, MCPClientError, validateJSONRPCMessage } from '@ai-sdk/mcp'
import type { CallToolResult, ListToolsResult, MCPClient } from '@ai-sdk/mcp'
import { ProvostError } from '@provost/core'

import { mcpFetch } from '../mcp-transport/http.ts'
import type { McpOptions } from '../mcp-transport/mcp-options.ts'
import { metaAdder } from '../mcp-transport/protocol.ts'
import type { McpMessage } from '../mcp-transport/protocol.ts'
import { serverText } from '../mcp-transport/server-text.ts'
import { stdioTransport } from '../mcp-transport/stdio.ts'
import type { StdioTransport } from '../mcp-transport/stdio.ts'
import { createQuestions } from './questions.ts'
import type { AskHuman } from './questions.ts'

/** A server that has greeted us. */
export interface Connection {
  readonly instructions?: string
  /** Whether the server has reported a change of its tools since the last `list`. */
  readonly stale: boolean
  list(signal: AbortSignal): Promise<Definitions>
  /** @param ask receives elicitations of the server meanwhile. */
  call(tool: string, input: Record<string, unknown>, signal: AbortSignal, ask?: AskHuman): Promise<CallResponse>
  read(uri: string, signal: AbortSignal): Promise<ReadResource>
  close(): Promise<void>
}

/** The result of a call. */
export interface CallResponse {
  readonly result: CallToolResult
  /** Context for a failure that the result may be. */
  readonly hint?: string
}

/** Definitions from the server. */
export type Definitions = ListToolsResult['tools']
export type ReadResource = Awaited<ReturnType<MCPClient['readResource']>>

const maxTools = 10_000
const maxInstructionsLength = 10_000
const maxMessageLength = 2_000
/** The server supports an older protocol only, and reports so when asked for its versions. */
const unsupportedVersion = -32_022

/** The settings of a connection, defaults filled in. */
export type ConnectionOptions = Pick<McpOptions, 'name' | 'transport' | 'meta'> &
  Required<Pick<McpOptions, 'connectTimeoutMs' | 'maxMessageBytes' | 'elicitation'>>

/**
 * Starts or reaches a server and greets it.
 *
 * @param signal ends the attempt.
 * @throws ProvostError `mcp-start-failed`, `mcp-closed`, `mcp-error`, …; nothing is left running.
 */
export async function connect(options: ConnectionOptions, signal: AbortSignal): Promise<Connection> {
  try {
    return await greet(options, signal, true)
  } catch (error) {
    // It would rather be greeted the old way.
    if (!(error instanceof ProvostError && isUnsupportedVersion(error.cause))) throw error
    return greet(options, signal, false)
  }
}

function isUnsupportedVersion(cause: unknown): boolean {
  return cause instanceof Error && 'code' in cause && cause.code === unsupportedVersion
}

async function greet(
  { name, transport, connectTimeoutMs, maxMessageBytes, elicitation, meta }: ConnectionOptions,
  signal: AbortSignal,
  discover: boolean,
): Promise<Connection> {
  let stale = false
  const questions = createQuestions(name)
  let closed = false
  const addMeta = meta ? metaAdder(name, transport.type, meta) : undefined
  const listener = { onListChanged: () => void (stale = true) }
  const stdio =
    transport.type === 'stdio'
      ? stdioTransport(
          transport,
          maxMessageBytes,
          (message): McpMessage => validateJSONRPCMessage(message),
          listener,
          addMeta,
        )
      : undefined

  const fault = (what: string, error: unknown, hint?: string): ProvostError => {
    if (error instanceof ProvostError && error.code !== 'mcp-closed') return error
    const ending = stdio?.exitReason()
    if (closed || ending !== undefined)
      return new ProvostError('mcp-closed', `${what}: the MCP server ${name} ${ending ?? 'was disconnected'}.`, {
        hint: 'Connect again with mcpTools().',
        cause: error,
      })
    const reason = serverText(error instanceof Error ? error.message : String(error), maxMessageLength)
    const status = MCPClientError.isInstance(error) ? error.statusCode : undefined
    if (status === 401 || status === 403)
      return new ProvostError('mcp-unauthorized', `${what}: the MCP server ${name} refused access (${status}).`, {
        hint: 'Pass its credentials in `headers` of the transport, or an `authProvider`.',
        cause: error,
      })
    return new ProvostError('mcp-error', `${what}: ${reason}${/[.!?]$/.test(reason) ? '' : '.'}`, {
      hint,
      cause: error,
    })
  }

  let client: MCPClient
  try {
    client = await createMCPClient({
      transport: stdio ?? httpTransport(transport, mcpFetch(maxMessageBytes, listener, addMeta)),
      clientName: 'provost',
      protocolVersionDiscovery: discover,
      ...(elicitation === 'ask' && { capabilities: { elicitation: {} } }),
      initializationOptions: { signal },
      // Relevant errors fail their request. Other messages belong to unused parts of the protocol.
      onUncaughtError: () => undefined,
    })
  } catch (error) {
    await stdio?.close()
    if (signal.aborted) throw timedOut(name, connectTimeoutMs, stdio)
    if (stdio && stdio.exitReason() === undefined)
      throw new ProvostError('mcp-start-failed', `The MCP server ${name} could not be started: ${String(error)}.`, {
        hint: 'Check `command`, `cwd` and PATH: it gets no other variables than HOME, LANG, TERM, TMPDIR and `env`.',
        cause: error,
      })
    throw fault(`Connecting to ${name} failed`, error)
  }
  client.onElicitationRequest(ElicitationRequestSchema, ({ params }) => questions.answer(params))

  return {
    ...(client.instructions && { instructions: serverText(client.instructions, maxInstructionsLength) }),
    get stale() {
      return stale
    },
    async list(within) {
      const tools: Definitions = []
      const seen = new Set<string>()
      stale = false
      for (let cursor: string | undefined; ;) {
        try {
          const page = await client.listTools({ ...(cursor && { params: { cursor } }), options: { signal: within } })
          tools.push(...page.tools)
          cursor = page.nextCursor
        } catch (error) {
          stale = true
          if (within.aborted) throw timedOut(name, connectTimeoutMs, stdio)
          // A server may have resources and no tools.
          if (client.initializeResult.capabilities.tools === undefined && !closed) return []
          throw fault(`Listing the tools of ${name} failed`, error)
        }
        if (!cursor && tools.length <= maxTools) return tools
        if (!cursor || seen.has(cursor) || tools.length > maxTools)
          throw new ProvostError('mcp-error', `The list of tools of ${name} is too long or does not end.`, {
            hint: `A server may have ${maxTools} tools and may name each page once.`,
          })
        seen.add(cursor)
      }
    },
    call: (tool, input, within, ask) =>
      questions.during(elicitation === 'ask' ? ask : undefined, async (call) => {
        try {
          const result = await client.callTool({ name: tool, arguments: input, options: { signal: within } })
          return { result, ...(call.hint !== undefined && { hint: call.hint }) }
        } catch (error) {
          throw fault(`${tool} failed`, error, call.hint)
        }
      }),
    async read(uri, within) {
      try {
        return await client.readResource({ uri, options: { signal: within } })
      } catch (error) {
        if (within.aborted) throw within.reason
        throw fault(`Reading ${serverText(uri, 200)} failed`, error)
      }
    },
    async close() {
      closed = true
      // A transport whose `close` fails is closed in any case.
      await client.close().catch(() => undefined)
      await stdio?.close()
    },
  }
}

function httpTransport(transport: Extract<McpOptions['transport'], { type: string }>, fetch: typeof globalThis.fetch) {
  if (transport.type !== 'http') throw new ProvostError('mcp-start-failed', 'The transport is neither stdio nor http.')
  const { url, headers, authProvider } = transport
  return {
    type: 'http' as const,
    url: String(url),
    ...(headers && { headers: { ...headers } }),
    ...(authProvider && { authProvider }),
    redirect: 'error' as const,
    fetch,
  }
}

function timedOut(name: string, connectTimeoutMs: number, stdio: StdioTransport | undefined): ProvostError {
  const stray = stdio?.strayLine()
  return new ProvostError(
    'mcp-timeout',
    `The MCP server ${name} did not answer within ${connectTimeoutMs} ms.${stray ? ` Its output was not a protocol message: ${stray}` : ''}`,
    { hint: 'Check that it speaks MCP on this transport; raise connectTimeoutMs for one that starts slowly.' },
  )
}
