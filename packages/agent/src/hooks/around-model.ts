import type { Extension, ModelOutcome, TimedOperationOf } from '@provost/core'
import type { ModelAnswer } from '@provost/provider'

import { withCost } from '../prompt/cost.ts'
import type { ResolvedAgent } from '../types/resolved-agent.ts'
import type { RunContext } from '../types/run-context.ts'
import { around } from './around.ts'

/**
 * Calls a model inside the `around` hooks, which receive its outcome.
 *
 * @param by the extension that requested the call. Its own hook is skipped, to avoid endless recursion.
 */
export function aroundModel(
  ctx: RunContext,
  op: TimedOperationOf<'model'>,
  call: () => Promise<ModelAnswer>,
  by?: Extension,
): Promise<ModelAnswer> {
  if (ctx.observers().around.model.length === 0) return call()
  const observed: TimedOperationOf<'model'> & { outcome?: ModelOutcome } = { ...op }
  const answered = async (): Promise<ModelAnswer> => {
    const answer = await call()
    observed.outcome = outcomeOf(ctx.agent, op.model, answer)
    return answer
  }
  return around(ctx, observed, answered, by)
}

function outcomeOf({ prices }: ResolvedAgent, model: string, answer: ModelAnswer): ModelOutcome {
  const paid = withCost(answer.usage, model, prices)
  if (!answer.ok) {
    const { aborted, fault } = answer
    return { ...paid, fault: { class: aborted ? 'aborted' : fault.class, message: fault.message } }
  }
  const { finishReason, responseModel } = answer
  return { ...paid, finishReason, ...(responseModel !== undefined && { responseModel }) }
}
