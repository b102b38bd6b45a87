import { jsonSchema } from '@ai-sdk/provider-utils'
import type { Extension, KnownKeys, ToolInfo } from '@provost/core'
import { checkOptions, defineExtension, ProvostError } from '@provost/core'
import { toModelMessages } from '@provost/provider'
import type { AiTool } from '@provost/tools'

import type { ToolApproval } from './tool-approval.ts'
import { statusOf } from './tool-approval.ts'

/** Options of {@link approvalFrom}. */
export interface ApprovalFromOptions {
  /** The tools that the function receives. Default: the names, descriptions and input schemas of the agent's tools. */
  readonly tools?: Readonly<Record<string, AiTool>>
  /** What the function receives as `toolsContext`. Default `{}`. */
  readonly toolsContext?: Readonly<Record<string, unknown>>
  /** The name of the extension in the log. Default `tool-approval`. */
  readonly name?: string
}

const optionKeys = { tools: true, toolsContext: true, name: true } satisfies KnownKeys<ApprovalFromOptions>

/**
 * Returns a `toolApproval` of the AI SDK as an extension, such as `opaPolicy({ … })` of `@ai-sdk/policy-opa`. `denied` denies,
 * `user-approval` asks, `approved` and `not-applicable` leave the call to the other extensions. A function that throws, or
 * gives another answer, denies. `runtimeContext` is the app value of the run, and `messages` are those of the model call.
 *
 * @throws ProvostError `unknown-option`, `invalid-argument`
 *
 * @example
 * createAgent({ name: 'desk', model, tools, extensions: [approvalFrom(opaPolicy({ client, path: 'agent/call/decision' }))] })
 */
export function approvalFrom(approval: ToolApproval, options: ApprovalFromOptions = {}): Extension<unknown> {
  checkOptions(options, optionKeys, 'approvalFrom')
  if (typeof approval !== 'function' && (typeof approval !== 'object' || approval === null))
    throw new ProvostError('invalid-argument', 'approvalFrom needs a function, or a record of tools.', {
      hint: 'Pass what you would pass to the AI SDK as toolApproval.',
    })
  const { tools, toolsContext = {}, name = 'tool-approval' } = options
  return defineExtension({
    name,
    scope: 'tree',
    portable: true,
    hooks: {
      async 'tool.call'({ callId, tool, input }, ctx) {
        // A human has answered the question; what is denied stays denied.
        const { messages } = ctx.view
        const answer = messages.findLastIndex(({ role }) => role === 'assistant')
        const status = await statusOf(approval, {
          toolCall: { type: 'tool-call', toolCallId: callId, toolName: tool.name, input },
          tools: tools ?? plainTools(ctx.tools),
          toolsContext,
          runtimeContext: ctx.context,
          messages: toModelMessages(answer < 0 ? messages : messages.slice(0, answer)),
        })
        switch (status.type) {
          case 'denied':
            return { deny: status.reason ?? `A policy does not allow ${tool.name}.` }
          case 'user-approval':
            return { ask: { reason: status.reason ?? `A policy asks about ${tool.name}.` } }
          case 'approved':
          case 'not-applicable':
            return undefined
          default:
            return status satisfies never
        }
      },
    },
  })
}

/** Returns the definitions of tools without what runs them. */
function plainTools(tools: readonly ToolInfo[]): Readonly<Record<string, AiTool>> {
  return Object.fromEntries(
    tools.map(({ name, title, description, inputSchema }) => [
      name,
      {
        ...(title !== undefined && { title }),
        ...(description !== undefined && { description }),
        inputSchema: jsonSchema(inputSchema),
      },
    ]),
  )
}
