import type { Extension, Fold, Grant } from '@provost/core'
import { admit, defineExtension } from '@provost/core'

/** The error code of a run that has used up its grant. */
export const budgetExceeded = 'budget-exceeded'

const giveMore = 'Give the child a larger grant, or less work.'

/** Limits a child to its grant and to what remains of the grants above it. Every child has this extension. */
export function budgetExtension(): Extension<unknown> {
  return extension
}

const extension: Extension<unknown> = defineExtension({
  name: 'grant',
  asks: false,
  hooks: {
    'model.request'(request, ctx) {
      const { remaining } = ctx.run
      if (!remaining) return undefined
      if (ctx.fold(refusalFold)) return ctx.stop(budgetExceeded, callsUsedUp, giveMore)
      const { tokens } = remaining
      // Reservations of other calls may be released: `model.call` waits for that.
      const over = ctx.tree.reserving === 0 ? usedUp(remaining) : undefined
      if (over !== undefined) return ctx.stop(budgetExceeded, over, giveMore)
      if (tokens === undefined || tokens <= 0) return undefined
      return { params: { maxOutputTokens: Math.min(tokens, request.params.maxOutputTokens ?? tokens) } }
    },
    'model.call'(call, ctx) {
      const { remaining } = ctx.run
      if (!remaining) return undefined
      const admission = admit(remaining, call, ctx.tree, true)
      if (admission.outcome === 'wait') return { wait: true }
      return admission.outcome === 'go' ? admission : ctx.stop(budgetExceeded, usedUp(remaining) ?? unpriced, giveMore)
    },
    'tool.call'(call, ctx) {
      const { toolCalls } = ctx.run.remaining ?? {}
      if (toolCalls === undefined) return undefined
      // A call that is authorized again already has its reservation.
      if (toolCalls + ctx.reserved(call.callId).toolCalls < 1) return { deny: callsUsedUp, code: budgetExceeded }
      ctx.reserve(call.callId, { toolCalls: 1 })
      return undefined
    },
  },
})

const callsUsedUp = 'The grant of tool calls is used up. Answer with what there is.'
const unpriced = 'The grant is in US dollars, and the price of the model is not known.'

function usedUp({ tokens, cost, steps }: Grant): string | undefined {
  if (tokens !== undefined && tokens <= 0) return 'The grant of tokens is used up.'
  if (cost !== undefined && cost <= 0) return 'The grant in US dollars is used up, or a price is not known.'
  if (steps !== undefined && steps < 1) return 'The grant of steps is used up.'
  return undefined
}

/**
 * Whether a tool call of this run was denied because the grant was used up: the run ends before its next model call.
 */
const refusalFold: Fold<boolean> = {
  key: 'agent/grant',
  initial: false,
  apply(refused, entry) {
    if (entry.type === 'run' && entry.op === 'started') return false
    return (
      refused ||
      (entry.type === 'call' && entry.op === 'decided' && entry.outcome === 'deny' && entry.by === extension.name)
    )
  },
}
