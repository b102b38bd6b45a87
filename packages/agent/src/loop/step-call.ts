import type { ModelRequest } from '@provost/core'
import { joinLabels, liveFields } from '@provost/core'
import { chooseModel, modelName } from '@provost/provider'

import { tailMessages } from '../inbox/enter-messages.ts'
import { namedTools } from '../model/model-request.ts'
import type { StepRequest } from '../types/orchestrator.ts'
import type { ResolvedAgent } from '../types/resolved-agent.ts'
import type { SessionState } from '../types/session-state.ts'
import type { ModelStep } from './driver.ts'

/** A model call that builds its request when a driver reads it. A run makes its own request, and reads the options only. */
export class StepCall implements ModelStep {
  readonly step: number
  readonly options: StepRequest
  readonly #state: SessionState
  readonly #agent: ResolvedAgent
  #request: ModelRequest | undefined

  constructor(step: number, state: SessionState, agent: ResolvedAgent, options: StepRequest = {}) {
    this.step = step
    this.options = options
    this.#state = state
    this.#agent = agent
  }

  get request(): ModelRequest {
    return (this.#request ??= requestOf(this.#state, this.#agent, this.options))
  }
}

function requestOf(state: SessionState, agent: ResolvedAgent, options: StepRequest): ModelRequest {
  const { tools, tail = [], model, tier, settings } = options
  const overridden = model !== undefined || tier !== undefined
  const spec = chooseModel(model ?? agent.model, tier)
  const label = state.viewLabel
  const request = {
    model: overridden ? modelName(spec) : agent.modelName,
    spec,
    label: tail.length > 0 ? joinLabels(label, tailMessages(tail, state.clock, 'tail').label) : label,
    tail: Object.freeze([...(state.run?.ephemeralMessages ?? []), ...tail]),
    tools: tools ? namedTools(agent, tools) : agent.offered,
    params: settings ? { ...agent.settings, ...settings } : agent.settings,
  }
  return withMessages(request, state)
}

/** Copies the messages on first access only, so that the cost of a step does not grow with the history. */
const withMessages = liveFields<SessionState, Pick<ModelRequest, 'messages'>>({
  messages: ({ view }) => Object.freeze([...view]),
})
