import type { ModelMessage } from '@provost/core'
import { isRecord } from '@provost/core'
import type { AiTool } from '@provost/tools'

import type { GuardOptions } from '../definition/guard-options.ts'
import type { Guard } from '../judge/guard.ts'
import { createGuard } from '../judge/guard.ts'
import type { ApprovalRequest, ApprovalStatus, ToolApproval } from './tool-approval.ts'
import { statusOf } from './tool-approval.ts'

/** Options of {@link provenance}. */
export interface ProvenanceOptions extends GuardOptions {
  /**
   * Returns the id of the conversation, such as one that `runtimeContext` has. Give it where several processes share a store.
   * Default: the guard finds the conversation by its messages.
   */
  readonly session?: (request: ApprovalRequest) => string | undefined
  /** The `toolApproval` that the agent had before. The stricter of both answers counts. */
  readonly also?: ToolApproval
}

/** A function for `toolApproval` of the AI SDK, with its guard. */
export interface Provenance {
  (request: ApprovalRequest): Promise<ApprovalStatus>
  readonly guard: Guard
}

/**
 * Returns a function for `toolApproval` of the AI SDK: `ToolLoopAgent`, `generateText` and `streamText`. It judges each call by
 * where its values come from, as `dataFlowPolicy` does in an agent of Provost. A question is a `user-approval`.
 *
 * A tool's own `needsApproval` still counts: the AI SDK leaves it to a `toolApproval` function.
 *
 * @throws ProvostError `unknown-option`, `invalid-option`, `invalid-policy`
 *
 * @example
 * const agent = new ToolLoopAgent({ model, tools, toolApproval: provenance({ mode: 'enforce', tools: { getMail: { effect: 'read' } } }) })
 */
export function provenance(options: ProvenanceOptions): Provenance {
  const { session, also, ...more } = options
  const guard = createGuard(more)
  const approve = async (request: ApprovalRequest): Promise<ApprovalStatus> => {
    const { toolCall, tools = {}, messages } = request
    const { toolCallId, toolName, input } = toolCall
    const approved = isApproved(messages, toolCallId)
    const { decision, reason } = await guard.judge({
      call: { id: toolCallId, name: toolName, input },
      history: messages,
      definitions: tools,
      session: session?.(request),
      ...(approved && { approvedBy: 'user' }),
    })
    if (decision === 'deny') return { type: 'denied', ...(reason !== undefined && { reason }) }
    const own = also === undefined ? await ownApproval(request) : await statusOf(also, request)
    if (own.type === 'denied' || decision === 'allow') return own
    return { type: 'user-approval', ...(reason !== undefined && { reason }) }
  }
  return Object.assign(approve, { guard })
}

/** Returns what the tool itself says: the AI SDK does not ask it where there is a `toolApproval` function. */
async function ownApproval({ toolCall, tools = {}, messages, toolsContext }: ApprovalRequest): Promise<ApprovalStatus> {
  const { toolCallId, toolName, input } = toolCall
  const tool: AiTool | undefined = Object.hasOwn(tools, toolName) ? tools[toolName] : undefined
  const needs = tool?.needsApproval
  if (needs === undefined || needs === false) return { type: 'not-applicable' }
  const context = isRecord(toolsContext) && Object.hasOwn(toolsContext, toolName) ? toolsContext[toolName] : undefined
  const asks = needs === true || (await needs(input, { toolCallId, messages: [...messages], context }))
  return { type: asks ? 'user-approval' : 'not-applicable' }
}

/**
 * Whether the AI SDK asks again about a call that a human has approved: the history ends with an approval of it. It may be
 * forged; the guard compares it with what it asked.
 */
function isApproved(messages: readonly ModelMessage[], toolCallId: string): boolean {
  const last = messages.at(-1)
  if (last?.role !== 'tool') return false
  const answered = new Set(
    last.content.flatMap((part) => (part.type === 'tool-approval-response' && part.approved ? [part.approvalId] : [])),
  )
  if (answered.size === 0) return false
  return messages.some(
    ({ role, content }) =>
      role === 'assistant' &&
      typeof content !== 'string' &&
      content.some(
        (part) =>
          part.type === 'tool-approval-request' && part.toolCallId === toolCallId && answered.has(part.approvalId),
      ),
  )
}
