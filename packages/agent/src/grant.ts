import type { Extension, Fold, Grant, Growing } from '@provost/core'
import { defineExtension, grow, nothingYet, placeIn } from '@provost/core'

/** The code of a run that has used up what it was granted. */
export const budgetExceeded = 'budget-exceeded'

/** Holds a child to what it was granted, and to what is left to those above it. Each child has it. */
export function grants(): Extension<unknown> {
  return extension
}

const extension: Extension<unknown> = defineExtension({
  name: 'grant',
  asks: false,
  hooks: {
    'model.request'(request, ctx) {
      const { remaining } = ctx.run
      if (!remaining) return undefined
      const over = usedUp(remaining)
      if (over !== undefined) return ctx.stop(budgetExceeded, over)
      const { tokens } = remaining
      if (tokens === undefined) return undefined
      return { params: { maxOutputTokens: Math.min(tokens, request.params.maxOutputTokens ?? tokens) } }
    },
    'tool.call'(call, ctx) {
      const { toolCalls } = ctx.run.remaining ?? {}
      if (toolCalls === undefined) return undefined
      const { calls, made } = ctx.fold(stepFold)
      // Calls of one step are judged before any of them counts: each is counted at its place.
      if ((placeIn(calls, call.callId) ?? -1) < toolCalls + made) return undefined
      return { deny: 'The grant of tool calls is used up. Answer with what there is.', code: budgetExceeded }
    },
  },
})

function usedUp({ tokens, cost, steps }: Grant): string | undefined {
  if (tokens !== undefined && tokens <= 0) return 'The grant of tokens is used up.'
  if (cost !== undefined && cost <= 0) return 'The grant in US dollars is used up, or a price is not known.'
  if (steps !== undefined && steps <= 0) return 'The grant of steps is used up.'
  return undefined
}

interface StepCalls {
  /** Of the present step. */
  readonly calls: Growing<string>
  /** How many of them went ahead. */
  readonly made: number
}

const stepFold: Fold<StepCalls> = {
  key: 'agent/grant',
  initial: { calls: nothingYet, made: 0 },
  apply(step, entry) {
    if (entry.type === 'message' && entry.via === 'model') {
      let calls: Growing<string> = nothingYet
      for (const part of entry.message.content) if (part.type === 'tool-call') calls = grow(calls, part.callId)
      return { calls, made: 0 }
    }
    if (entry.type !== 'call') return step
    if (entry.op === 'planned') return { ...step, calls: grow(step.calls, entry.callId) }
    return entry.op === 'decided' && entry.outcome === 'proceed' ? { ...step, made: step.made + 1 } : step
  },
}
