import { defineExtension, ProvostError } from '@provost/core'
import type { Ask, Extension, HookContext, MaybePromise, ToolCall } from '@provost/core'

/** The decision of a policy about a call. */
export type ApprovalAnswer = 'allow' | 'deny' | 'ask' | { readonly ask: Ask }

/**
 * Lets a function allow a call, deny it, or require an approval. An approval is bound to the exact arguments. If the
 * function throws or returns anything else, the call is denied.
 *
 * @example
 * approvalPolicy((call) => (call.tool.effect === 'egress' ? 'ask' : 'allow'))
 */
export function approvalPolicy(
  decide: (call: ToolCall, ctx: HookContext) => MaybePromise<ApprovalAnswer>,
): Extension<unknown> {
  if (typeof decide !== 'function') {
    throw new ProvostError('invalid-approval-policy', `approvalPolicy takes a function, not ${typeof decide}.`, {
      hint: "Give (call) => 'allow', 'deny' or 'ask'.",
    })
  }
  return defineExtension({
    name: 'approval-policy',
    scope: 'tree',
    portable: true,
    hooks: {
      async 'tool.call'(call, ctx) {
        const answer: unknown = await decide(call, ctx)
        if (answer === 'allow') return undefined
        if (answer === 'ask') return { ask: { reason: `${call.tool.name} needs approval` } }
        if (isAsk(answer)) return { ask: answer.ask }
        if (answer !== 'deny') {
          throw new ProvostError(
            'invalid-approval-policy',
            `The approval policy returned ${String(answer)} for ${call.tool.name}.`,
            {
              hint: "Return 'allow', 'deny', 'ask' or { ask }.",
            },
          )
        }
        await ctx.audit('blocked', {
          rule: 'approval-policy',
          callId: call.callId,
          sources: call.label.sources,
          evidence: { tool: call.tool.name },
        })
        return { deny: `${call.tool.name} is not allowed with these arguments.` }
      },
    },
  })
}

function isAsk(answer: unknown): answer is { readonly ask: Ask } {
  if (typeof answer !== 'object' || answer === null || !('ask' in answer)) return false
  const { ask } = answer
  return typeof ask === 'object' && ask !== null && 'reason' in ask && typeof ask.reason === 'string'
}
