import { isRecord, ProvostError } from '@provost/core'
import type { AiTool } from '@provost/tools'

import type { GuardOptions } from './definition/guard-options.ts'
import type { ToolDefinitions } from './definition/guarded-tools.ts'
import { followLoop, outputOfText } from './judge/followed-loop.ts'
import type { FollowedLoop } from './judge/followed-loop.ts'
import { createGuard } from './judge/guard.ts'
import type { Guard } from './judge/guard.ts'
import { messagesFrom } from './openai/input-items.ts'

/** The context of a run, as OpenAI Agents passes it to tools and listeners. */
interface RunContextLike {
  readonly context: unknown
  isToolApproved(approval: { toolName: string; callId: string }): boolean | undefined
}

/** What the guard uses of an agent of OpenAI Agents. */
export interface GuardableAgent {
  readonly tools: readonly unknown[]
  readonly mcpServers: readonly unknown[]
  // oxlint-disable-next-line typescript/no-explicit-any -- the configuration of every agent has to fit
  clone(config: any): unknown
  // oxlint-disable-next-line typescript/no-explicit-any -- the listeners of every agent have to fit
  on(event: any, listener: (...args: any[]) => void): unknown
}

/** Options of {@link agentsGuard}. */
export interface AgentsGuardOptions extends GuardOptions {
  /** Returns the id of the conversation from the context of a run. Default: each run is a conversation of its own. */
  readonly session?: (context: unknown) => string | undefined
}

/** Guards agents of OpenAI Agents. */
export interface AgentsGuard {
  /**
   * Returns a copy of an agent whose function tools are judged before they run. A question is an interruption of the run,
   * and a denial is a message for the model. Register listeners on the copy.
   *
   * @throws ProvostError `invalid-argument` for a tool that runs here and is no function tool, or an MCP server.
   */
  protect<A extends GuardableAgent>(agent: A): A
  readonly guard: Guard
}

/**
 * Creates a guard for agents of `@openai/agents`. Agents that hand over to each other are protected by the same guard.
 *
 * @throws ProvostError `unknown-option`, `invalid-option`, `invalid-policy`
 *
 * @example
 * const desk = agentsGuard({ mode: 'enforce', tools: { read_inbox: { effect: 'read' } } }).protect(agent)
 * await run(desk, 'Summarise my inbox')
 */
export function agentsGuard({ session, ...options }: AgentsGuardOptions): AgentsGuard {
  const guard = createGuard(options)
  const loops = new WeakMap<object, FollowedLoop>()
  const loopOf = (run: RunContextLike): FollowedLoop => {
    const known = loops.get(run) ?? followLoop(guard, session?.(run.context) ?? crypto.randomUUID())
    loops.set(run, known)
    return known
  }

  function protect<A extends GuardableAgent>(agent: A): A {
    if (agent.mcpServers.length > 0)
      throw unguarded('An MCP server of the agent', 'Pass its tools in "tools", with getAllMcpTools.')
    const definitions: Record<string, AiTool> = {}
    const tools = agent.tools.map((tool) => protectedTool(tool, definitions))
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a clone is an agent of the same kind
    const copy = agent.clone({ tools }) as A
    copy.on('agent_start', (run: RunContextLike, _: unknown, input: unknown) => {
      // After a handoff the loop is known.
      if (!loops.has(run)) loopOf(run).add(messagesFrom(input))
    })
    copy.on('agent_tool_end', (run: RunContextLike, _: unknown, result: unknown, details: unknown) => {
      const call = isRecord(details) ? details['toolCall'] : undefined
      const callId = isRecord(call) ? call['callId'] : undefined
      if (typeof callId === 'string') loopOf(run).settle(callId, outputOfText(String(result)))
    })
    return copy
  }

  function protectedTool(tool: unknown, definitions: Record<string, AiTool>): unknown {
    if (!isRecord(tool) || tool['type'] === 'hosted_tool') return tool
    const { name, description, parameters, needsApproval, inputGuardrails } = tool
    if (tool['type'] !== 'function' || typeof name !== 'string')
      throw unguarded(`The tool ${String(name)} of the agent`, 'Make it a function tool, or leave it out.')
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a definition without what runs it
    definitions[name] = { description, inputSchema: parameters } as AiTool
    const check = (run: RunContextLike, callId: string, input: unknown): Promise<{ ask: boolean; deny?: string }> =>
      judge(loopOf(run), run, { id: callId, name, input }, definitions)
    return {
      ...tool,
      async needsApproval(run: RunContextLike, input: unknown, callId = '') {
        const { ask } = await check(run, callId, input)
        return ask || (typeof needsApproval === 'function' && (await needsApproval(run, input, callId)) === true)
      },
      inputGuardrails: [
        ...(Array.isArray(inputGuardrails) ? inputGuardrails : []),
        {
          type: 'tool_input',
          name: 'provost-guard',
          async run({
            context,
            toolCall,
          }: {
            context: RunContextLike
            toolCall: { callId: string; arguments: string }
          }) {
            const { ask, deny } = await check(context, toolCall.callId, parsed(toolCall.arguments))
            const message = deny ?? (ask ? 'The call was not approved.' : undefined)
            return { behavior: message === undefined ? { type: 'allow' } : { type: 'rejectContent', message } }
          },
        },
      ],
    }
  }

  return { protect, guard }
}

/** Judges a call once. After an approval it is judged again, with what the human approved. */
async function judge(
  loop: FollowedLoop,
  run: RunContextLike,
  call: { readonly id: string; readonly name: string; readonly input: unknown },
  definitions: ToolDefinitions,
): Promise<{ readonly ask: boolean; readonly deny?: string }> {
  let verdict = await (loop.verdictOn(call.id) ?? loop.judge(call, definitions))
  if (verdict.decision === 'ask' && run.isToolApproved({ toolName: call.name, callId: call.id }) === true)
    verdict = await loop.approve(call, 'user', definitions)
  if (verdict.decision === 'deny') return { ask: false, deny: verdict.reason ?? 'A policy does not allow this call.' }
  return { ask: verdict.decision === 'ask' }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function unguarded(what: string, hint: string): ProvostError {
  return new ProvostError('invalid-argument', `${what} cannot be guarded.`, { hint })
}
