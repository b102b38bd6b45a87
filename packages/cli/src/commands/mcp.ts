import process from 'node:process'

import { displayText, reasonText, toErrorInfo } from '@provost/core'
import { z } from 'zod'

import type { ExitCode, Invocation } from '../command/command.ts'
import { exitCodes } from '../command/command.ts'
import type { AnyAgent } from '../project/agent-file.ts'
import { agentsIn } from '../project/agent-file.ts'
import { installed } from '../project/installed.ts'
import type { OpenStore } from '../project/open-store.ts'
import { openStore } from '../project/open-store.ts'
import { waitCount } from '../terminal/waits.ts'

const toolInput = z.object({
  input: z.string().min(1).describe('Task or question for the agent.'),
  sessionId: z
    .string()
    .max(200)
    .optional()
    .describe('Session id from an earlier result, to continue that conversation.'),
})

/** `provost mcp FILE`: each agent is a tool, as at `/mcp` of the server. */
export async function mcp(given: Invocation): Promise<ExitCode> {
  const agents = await agentsIn(given.argument('FILE'))
  const name = '@modelcontextprotocol/server'
  const { McpServer } = await installed(name, () => import('@modelcontextprotocol/server'))
  const { serveStdio } = await installed(name, () => import('@modelcontextprotocol/server/stdio'))
  const opened = openStore(given, 'create')
  const handle = serveStdio(
    () => {
      const server = new McpServer({ name: 'provost', version: '1' })
      for (const agent of agents) {
        const { name: tool, description = `Asks the agent ${tool}.` } = agent
        server.registerTool(tool, { description, inputSchema: toolInput }, async (call) => {
          try {
            return { content: [{ type: 'text', text: await answer(agent, opened, call) }] }
          } catch (thrown) {
            const { code, message, hint = '' } = toErrorInfo(agent.scrub(thrown))
            return { content: [{ type: 'text', text: `${code}: ${message} ${hint}`.trim() }], isError: true }
          }
        })
      }
      return server
    },
    { onerror: (error) => given.terminal.note(displayText(error.message, { limit: 1_000 })) },
  )
  // stdin ends when the client leaves.
  await new Promise<void>((resolve) => {
    process.stdin.once('end', resolve).once('close', resolve)
    process.once('SIGINT', () => resolve()).once('SIGTERM', () => resolve())
  })
  await handle.close()
  await Promise.all(agents.map((agent) => agent.abort({ onPendingApprovals: 'hold' })))
  await opened.store.close()
  return exitCodes.ok
}

/**
 * Runs an agent for one call. A session whose run is suspended or was interrupted resumes that run first: the answer is
 * that of the earlier call.
 */
async function answer(
  agent: AnyAgent,
  { store }: OpenStore,
  { input, sessionId }: z.output<typeof toolInput>,
): Promise<string> {
  const session =
    sessionId === undefined
      ? await agent.createSession({ store, principal: { id: 'local' } })
      : await agent.resumeSession(sessionId, { store })
  const isResumed = session.status === 'suspended'
  const { status, text, pending, error } = await (isResumed ? session.resume() : session.stream(input)).result
  const earlier = isResumed ? '. This is the answer to the earlier input; send the new one again' : ''
  const end = `\n\n(session ${session.id}${earlier})`
  if (status === 'completed') return `${text}${end}`
  if (status === 'failed') throw error
  if (status === 'aborted') return `The run was aborted.${end}`
  const waits = pending.approvals.map((one) => `${displayText(one.toolName)} (${reasonText(one)})`)
  return `It waits for a human: ${waits.join(', ') || `${waitCount(pending)} answers`}.${end}`
}
