import type { Extension, ModelOutcome, OpOf } from '@provost/core'
import type { ModelAnswer } from '@provost/provider'

import type { AgentPlan } from './agent-plan.ts'
import { paidFor } from './paid.ts'
import { around } from './run-scope.ts'
import type { RunScope } from './run-scope.ts'

/**
 * Calls a model inside the `around` hooks, who learn what came of it.
 *
 * @param by who asked for the call: its own hook is not around it, or it would ask for ever.
 */
export function aroundModel(
  scope: RunScope,
  op: OpOf<'model'>,
  call: () => Promise<ModelAnswer>,
  by?: Extension,
): Promise<ModelAnswer> {
  if (scope.watchers.around.model.length === 0) return call()
  const told: OpOf<'model'> & { outcome?: ModelOutcome } = { ...op }
  const answered = async (): Promise<ModelAnswer> => {
    const answer = await call()
    told.outcome = outcomeOf(scope.plan, op.model, answer)
    return answer
  }
  return around(scope, told, answered, by)
}

function outcomeOf({ prices }: AgentPlan, model: string, answer: ModelAnswer): ModelOutcome {
  const paid = paidFor(answer.usage, model, prices)
  if (!answer.ok) {
    const { aborted, fault } = answer
    return { ...paid, fault: { class: aborted ? 'aborted' : fault.class, message: fault.message } }
  }
  const { finishReason, responseModel } = answer
  return { ...paid, finishReason, ...(responseModel !== undefined && { responseModel }) }
}
