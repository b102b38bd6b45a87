import type { RunResult, RunStatus } from '@provost/core'
import { clockOf } from '@provost/core'

import { sourceOf } from '../control/failure-source.ts'
import { endPayload } from '../state/run-summary.ts'
import type { EventBus, LogWriter } from '../types/log.ts'
import type { ResolvedAgent } from '../types/resolved-agent.ts'
import { RunEnding } from '../types/run-ending.ts'
import type { SessionState } from '../types/session-state.ts'
import { asError } from './run-error.ts'
import { brokenResult } from './run-result.ts'

interface RunIds {
  readonly sessionId: string
  readonly runId: string
}

/** Ends a run whose end cannot be recorded: the store failed, or the run wrote no entry. Emits the events of the end. */
export async function cutOffMessage<Output>(
  agent: ResolvedAgent,
  emit: LogWriter['emit'],
  ids: RunIds,
  state: SessionState,
  thrown: unknown,
): Promise<RunResult<Output>> {
  const aborted = thrown instanceof RunEnding && thrown.status === 'aborted'
  const error = aborted ? undefined : asError(thrown)
  if (error) {
    const source = sourceOf(thrown) ?? { kind: 'loop', name: agent.name }
    emit('agent.error', { error: error.toJSON(), source })
  }
  const status: RunStatus = aborted ? 'aborted' : 'failed'
  const { error: _, output: __, ...payload } = endPayload(state)
  emit('agent.end', { ...payload, status, ...(error && { error: error.toJSON() }) })
  return brokenResult<Output>(agent, state, ids, error)
}

/** Returns an emitter for the events of a run without a log. */
export function unloggedFailure(
  agent: ResolvedAgent,
  eventBus: EventBus,
  { runId, sessionId }: RunIds,
): LogWriter['emit'] {
  let passing = 0
  return (type, payload) => {
    const place = { runId, step: 0, agent: agent.name, at: clockOf(agent.store).now() }
    eventBus.emit(`${sessionId}:0~${passing++}`, place, type, payload)
  }
}
