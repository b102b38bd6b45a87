import { fileURLToPath } from 'node:url'

import { mcpTools } from 'provost/mcp'

import { done, outcomeOf, probeAgent } from '../agents.ts'
import type { Door } from '../input.ts'
import { codeOf } from '../input.ts'

/** What the hostile server does, and what is asked of it. */
export interface McpVisit {
  /** A case of `mcp-server.ts`. */
  readonly misdeed: string
  /** A resource to be read; default: the first tool is called. */
  readonly resource?: string
  /** Arguments of the call. */
  readonly input?: unknown
}

const server = fileURLToPath(new URL('../mcp-server.ts', import.meta.url))

/**
 * A server process that is connected to, and whose first tool an agent calls: `refused too-large`, the code of an error, or
 * how the run ended.
 */
export const mcpDoor: Door<McpVisit> = {
  name: 'mcpTools',
  benign: { misdeed: 'none' },
  async pass({ misdeed, resource, input = {} }, { store }) {
    const refused = new Set<string>()
    const options = {
      name: 'hostile',
      transport: { type: 'stdio', command: process.execPath, args: [server, misdeed] },
      timeoutMs: 2_000,
      connectTimeoutMs: 5_000,
      onRefused: ({ reason }: { reason: string }) => void refused.add(reason),
    } as const
    const connection = await mcpTools(options).catch(codeOf)
    if (typeof connection === 'string') return connection
    try {
      if (resource !== undefined) return await connection.reader(resource).then(() => 'read', codeOf)
      const [first] = connection.tools
      if (!first) return `refused ${[...refused].toSorted().join(' ')}`
      const steps = [{ toolCalls: [{ name: first.name, input }] }, done]
      const { tools } = connection
      // The agent may call it unasked: what is tried here is what the server sends.
      const agent = probeAgent({ steps, store, tools })
      return await outcomeOf(agent.stream('Call it.', { onApproval: () => 'approve' }))
    } finally {
      await connection.close()
    }
  },
}
