import type { HookCallback, HookInput, Options } from '@anthropic-ai/claude-agent-sdk'

import type { ClaudeHooks } from '../../packages/guard/src/claude-agent.ts'
import type { RecordedSession } from '../../packages/guard/test/conformance/recorded-session.ts'
import { replies } from '../../packages/guard/test/conformance/replies.ts'

/** The hooks of a guard, as `query` takes them: the compiler checks the types. */
export const hooksOf = (hooks: ClaudeHooks): NonNullable<Options['hooks']> => ({ ...hooks })

/** Sends the events of a recorded session to hooks, in the order and with the fields of the SDK. */
export async function guardClaude(session: RecordedSession, given: ClaudeHooks): Promise<void> {
  const hooks = hooksOf(given)
  const base = { session_id: 'recorded', transcript_path: '', cwd: '' }
  const reply = replies(session)
  let id = 0
  const send = async (event: HookInput): Promise<Awaited<ReturnType<HookCallback>>> => {
    const [hook] = hooks[event.hook_event_name]?.[0]?.hooks ?? []
    return hook ? hook(event, undefined, { signal: new AbortController().signal }) : {}
  }
  for (const { user, answers } of session.turns) {
    await send({ ...base, hook_event_name: 'UserPromptSubmit', prompt: user })
    for (const { calls = [] } of answers) {
      const asked = calls.map(async ({ name, input }) => {
        const call = { ...base, tool_name: name, tool_input: input, tool_use_id: `toolu_${id++}` }
        const answer = await send({ ...call, hook_event_name: 'PreToolUse' })
        const output = 'hookSpecificOutput' in answer ? answer.hookSpecificOutput : undefined
        const decision = output?.hookEventName === 'PreToolUse' ? output.permissionDecision : undefined
        return { call, runs: decision === undefined || (decision === 'ask' && session.human === 'approve') }
      })
      for (const { call, runs } of await Promise.all(asked)) {
        if (!runs) continue
        try {
          const response = reply(call.tool_name, call.tool_input)
          await send({ ...call, hook_event_name: 'PostToolUse', tool_response: response })
        } catch (error) {
          await send({ ...call, hook_event_name: 'PostToolUseFailure', error: String(error) })
        }
      }
    }
  }
}
