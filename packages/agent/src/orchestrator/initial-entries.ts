import type { Entry, Input } from '@provost/core'
import { positionId, uuidv7 } from '@provost/core'

import { resolvedAgentOf } from '../definition/resolved-agent.ts'
import { messagesOf } from '../messages/read-input.ts'
import { newEntry } from '../state/entry.ts'
import type { Agent } from '../types/agent.ts'

/**
 * Returns the first entries of a run's log, for driving {@link loop} by hand.
 *
 * @throws ProvostError `invalid-input`
 *
 * @example
 * const log = [...startEntries(agent, 'What is the time?')]
 */
export function startEntries(agent: Agent<unknown, never>, input: Input): readonly Entry[] {
  const resolved = resolvedAgentOf(agent)
  const { name, manifest } = resolved
  const place = { runId: uuidv7(), step: 0, agent: name }
  const messages = messagesOf(input, positionId(place.runId, 0, 'message', 'input'), resolved)
  const drafts = [
    newEntry(place, `${place.runId}/started`, { type: 'run', op: 'started', manifest }),
    ...messages.map((message) => newEntry(place, message.id, { type: 'message', message, via: 'input' })),
  ]
  return drafts.map((draft, index) => Object.freeze({ ...draft, offset: index + 1 }))
}
