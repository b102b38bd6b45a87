import type { MaybePromise, ModelMessage } from '@provost/core'
import { isRecord } from '@provost/core'
import type { AiTool } from '@provost/tools'

/** What the AI SDK passes to a `toolApproval` function. */
export interface ApprovalRequest {
  readonly toolCall: {
    readonly type?: 'tool-call'
    readonly toolCallId: string
    readonly toolName: string
    readonly input: unknown
  }
  readonly tools?: Readonly<Record<string, AiTool>> | undefined
  readonly toolsContext?: unknown
  readonly runtimeContext?: unknown
  readonly messages: ModelMessage[]
}

/** An answer of a `toolApproval` function in its long form. */
export type ApprovalStatus =
  | { readonly type: 'not-applicable' }
  | { readonly type: 'approved' | 'denied' | 'user-approval'; readonly reason?: string }

/**
 * A `toolApproval` of the AI SDK: a function, or a record with an answer or a function for each tool. The types of the AI SDK
 * depend on the tools of an agent, so parameters are unchecked here.
 */
// oxlint-disable-next-line typescript/no-explicit-any -- functions of every agent's tools have to fit
export type ToolApproval = ((request: any) => unknown) | Readonly<Record<string, unknown>>

/** Returns the answer of a `toolApproval`. One that is not an answer denies. */
export async function statusOf(approval: ToolApproval, request: ApprovalRequest): Promise<ApprovalStatus> {
  return normal(await answerOf(approval, request))
}

function answerOf(approval: ToolApproval, request: ApprovalRequest): MaybePromise<unknown> {
  if (typeof approval === 'function') return approval(request)
  const { toolCall, messages, toolsContext, runtimeContext } = request
  const { toolName, toolCallId, input } = toolCall
  const own: unknown = Object.hasOwn(approval, toolName) ? approval[toolName] : undefined
  if (typeof own !== 'function') return own
  const toolContext =
    isRecord(toolsContext) && Object.hasOwn(toolsContext, toolName) ? toolsContext[toolName] : undefined
  return own(input, { toolCallId, messages, toolContext, runtimeContext })
}

function normal(answer: unknown): ApprovalStatus {
  if (answer === undefined) return { type: 'not-applicable' }
  const type = isRecord(answer) ? answer['type'] : answer
  const reason = isRecord(answer) && typeof answer['reason'] === 'string' ? { reason: answer['reason'] } : {}
  switch (type) {
    case 'not-applicable':
      return { type }
    case 'approved':
    case 'denied':
    case 'user-approval':
      return { type, ...reason }
    default:
      return { type: 'denied', reason: 'The approval function gave no valid answer.' }
  }
}
