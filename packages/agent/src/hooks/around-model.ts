import type { Extension, ModelOutcome, TimedOperationOf } from '@provost/core'
import type { ModelAnswer } from '@provost/provider'

import { withCost } from '../prompt/cost.ts'
import type { ResolvedAgent } from '../types/resolved-agent.ts'
import type { RunContext } from '../types/run-context.ts'
import { around } from './around.ts'

/**
 * Calls a model inside the `around` hooks, who learn what came of it.
 *
 * @param by who asked for the call: its own hook is not around it, or it would ask for ever.
 */
export function aroundModel(
  scope: RunContext,
  op: TimedOperationOf<'model'>,
  call: () => Promise<ModelAnswer>,
  by?: Extension,
): Promise<ModelAnswer> {
  if (scope.watchers.around.model.length === 0) return call()
  const told: TimedOperationOf<'model'> & { outcome?: ModelOutcome } = { ...op }
  const answered = async (): Promise<ModelAnswer> => {
    const answer = await call()
    told.outcome = outcomeOf(scope.plan, op.model, answer)
    return answer
  }
  return around(scope, told, answered, by)
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
