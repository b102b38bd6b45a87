import type { AgentEvent } from '@provost/core'
import { deepFreeze } from '@provost/core'

import type { EventEnvelope } from '../types/log.ts'

/** Returns the event with the sequence number of one reader, frozen. Without a reader it is not created. */
export function numbered(event: EventEnvelope, seq: number): AgentEvent {
  if (event.last?.seq === seq) return event.last
  const { type, id, meta, parents, payload } = event
  const { runId, step, agent, at } = meta
  const made: unknown = deepFreeze({ seq, type, id, runId, step, agent, parents, at, ...payload })
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- K ties type and payload together; the compiler cannot see that their sum is a member of the union
  return (event.last = made as AgentEvent)
}
