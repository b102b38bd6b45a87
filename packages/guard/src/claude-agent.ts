import { isRecord, toJson } from '@provost/core'

import type { GuardOptions } from './definition/guard-options.ts'
import type { GuardedTool, GuardedTools } from './definition/guarded-tools.ts'
import { followLoop, outputOfText } from './judge/followed-loop.ts'
import type { FollowedLoop } from './judge/followed-loop.ts'
import { createGuard } from './judge/guard.ts'
import type { Guard } from './judge/guard.ts'

/** A hook of the Claude Agent SDK: it receives an event, and the id of the call that the event is about. */
export type ClaudeHook = (
  // oxlint-disable-next-line typescript/no-explicit-any -- the union of events grows with each release of the SDK
  event: any,
  callId: string | undefined,
) => Promise<ClaudeAnswer>

/** The answer of a hook. Without an opinion it is empty, so that the permissions of the SDK decide. */
export interface ClaudeAnswer {
  hookSpecificOutput?: {
    hookEventName: 'PreToolUse'
    permissionDecision: 'deny' | 'ask'
    permissionDecisionReason: string
  }
}

type Matchers = { hooks: ClaudeHook[]; onFailure?: 'block' }[]

/** Hooks for the option `hooks` of `query`. */
export interface ClaudeHooks {
  UserPromptSubmit: Matchers
  PreToolUse: Matchers
  PostToolUse: Matchers
  PostToolUseFailure: Matchers
}

/** Hooks, with their guard. */
export interface ClaudeGuard {
  readonly hooks: ClaudeHooks
  readonly guard: Guard
}

/** What the tools of Claude Code do. A tool that is not listed here has the effect `egress`. */
const builtIn: Readonly<Record<string, GuardedTool>> = {
  ...Object.fromEntries(
    ['Read', 'Glob', 'Grep', 'LS', 'NotebookRead', 'BashOutput'].map((name) => [name, { effect: 'read' } as const]),
  ),
  ...Object.fromEntries(
    ['TodoWrite', 'Task', 'Agent', 'ToolSearch', 'ExitPlanMode', 'AskUserQuestion'].map((name) => [
      name,
      { effect: 'none' } as const,
    ]),
  ),
  Write: { effect: 'write', args: { file_path: 'selector', content: 'content' } },
  Edit: { effect: 'write', args: { file_path: 'selector', old_string: 'content', new_string: 'content' } },
  NotebookEdit: { effect: 'write', args: { notebook_path: 'selector', new_source: 'content' } },
  Bash: { effect: 'egress', args: { command: 'content', description: 'content' } },
  WebFetch: { effect: 'egress', args: { url: 'destination', prompt: 'content' } },
  WebSearch: { effect: 'egress', args: { query: 'content' } },
}

/** Conversations that are followed. */
const mostLoops = 1_000

/**
 * Returns hooks for the Claude Agent SDK. They judge each call by where its values come from. `ask` leaves the question to the
 * permissions of the SDK (`canUseTool`), `deny` tells the model the reason, and an allowed call is left to its permissions.
 *
 * @param options `tools` adds to what is known of the tools of Claude Code; those of a server are `mcp__server__tool`.
 * @throws ProvostError `unknown-option`, `invalid-option`, `invalid-policy`
 *
 * @example
 * const { hooks } = claudeGuard({ mode: 'enforce', tools: { mcp__mail__send: { effect: 'egress', args: { to: 'destination' } } } })
 * for await (const message of query({ prompt, options: { hooks } })) print(message)
 */
export function claudeGuard(options: GuardOptions): ClaudeGuard {
  const tools: GuardedTools = { ...builtIn, ...options.tools }
  const guard = createGuard({ ...options, tools })
  const loops = new Map<string, FollowedLoop>()

  /** Subagents belong to the conversation that started them: what they read, it may have read. */
  function loopOf(event: Readonly<Record<string, unknown>>): FollowedLoop {
    const session = String(event['session_id'])
    const known = loops.get(session) ?? followLoop(guard, session)
    loops.delete(session)
    loops.set(session, known)
    const [oldest] = loops.keys()
    if (loops.size > mostLoops && oldest !== undefined) loops.delete(oldest)
    return known
  }

  const asks: ClaudeHook = async (event) => {
    const { id, name, input } = callIn(event)
    const { decision, reason = 'A policy asks about this call.' } = await loopOf(event).judge({ id, name, input })
    if (decision === 'allow') return {}
    const permissionDecision = decision
    return { hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision, permissionDecisionReason: reason } }
  }

  async function ended(event: Readonly<Record<string, unknown>>, output: Parameters<FollowedLoop['settle']>[1]) {
    const loop = loopOf(event)
    const call = callIn(event)
    // The call ran, so the permissions of the SDK have answered the question.
    if ((await loop.verdictOn(call.id))?.decision === 'ask') await loop.approve(call, 'claude-permissions')
    loop.settle(call.id, output)
    return {}
  }

  return {
    guard,
    hooks: {
      UserPromptSubmit: [{ hooks: [async (event) => (loopOf(event).add([promptIn(event)]), {})] }],
      PreToolUse: [{ hooks: [asks], onFailure: 'block' }],
      PostToolUse: [{ hooks: [(event) => ended(event, outputIn(event.tool_response))] }],
      PostToolUseFailure: [{ hooks: [(event) => ended(event, { type: 'error-text', value: String(event.error) })] }],
    },
  }
}

function callIn(event: Readonly<Record<string, unknown>>): { id: string; name: string; input: unknown } {
  return { id: String(event['tool_use_id']), name: String(event['tool_name']), input: event['tool_input'] }
}

/** A prompt that a schedule or another machine wrote is not the human's. */
function promptIn(event: Readonly<Record<string, unknown>>): { role: 'user' | 'system'; content: string } {
  const { source = 'user', prompt } = event
  return { role: source === 'user' || source === 'sdk' ? 'user' : 'system', content: String(prompt) }
}

function outputIn(response: unknown): Parameters<FollowedLoop['settle']>[1] {
  if (typeof response === 'string') return outputOfText(response)
  const parts = isRecord(response) && Array.isArray(response['content']) ? response['content'] : response
  if (Array.isArray(parts) && parts.every((part) => isRecord(part) && typeof part['text'] === 'string'))
    return outputOfText(parts.map((part: Record<string, unknown>) => part['text']).join('\n'))
  return { type: 'json', value: toJson(response) }
}
