import type { Entry, Input } from '@provost/core'
import { positionId, uuidv7 } from '@provost/core'

import { planOf } from './agent-plan.ts'
import type { Agent } from './agent.ts'
import { newEntry } from './entry.ts'
import { messagesOf } from './input.ts'

/**
 * The first entries of a run's log, for driving {@link loop} by hand.
 *
 * @throws ProvostError `invalid-input`
 *
 * @example
 * const log = [...startEntries(agent, 'What is the time?')]
 */
export function startEntries(agent: Agent<unknown, never>, input: Input): readonly Entry[] {
  const plan = planOf(agent)
  const { name, manifest } = plan
  const place = { runId: uuidv7(), step: 0, agent: name }
  const messages = messagesOf(input, positionId(place.runId, 0, 'message', 'input'), plan)
  const drafts = [
    newEntry(place, `${place.runId}/started`, { type: 'run', op: 'started', manifest }),
    ...messages.map((message) => newEntry(place, message.id, { type: 'message', message, via: 'input' })),
  ]
  return drafts.map((draft, index) => Object.freeze({ ...draft, offset: index + 1 }))
}
