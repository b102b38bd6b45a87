import type { RunResult, RunStatus } from '@provost/core'

import type { AgentPlan } from './agent-plan.ts'
import { endPayload } from './end-payload.ts'
import type { EventHub } from './event-hub.ts'
import type { Journal } from './journal.ts'
import type { LogState } from './log-state.ts'
import { asError } from './run-error.ts'
import { brokenResult } from './run-result.ts'
import { RunEnding } from './run-scope.ts'

interface RunIds {
  readonly sessionId: string
  readonly runId: string
}

/** A run that its log does not see end: the store failed, or it never got to write. */
export async function brokenOff<Output>(
  plan: AgentPlan,
  emit: Journal['emit'],
  ids: RunIds,
  state: LogState,
  thrown: unknown,
): Promise<RunResult<Output>> {
  const aborted = thrown instanceof RunEnding && thrown.status === 'aborted'
  const error = aborted ? undefined : asError(thrown)
  if (error) emit('agent.error', { error: error.toJSON(), source: { kind: 'loop', name: plan.name } })
  const status: RunStatus = aborted ? 'aborted' : 'failed'
  const { error: _, output: __, ...payload } = endPayload(state)
  emit('agent.end', { ...payload, status, ...(error && { error: error.toJSON() }) })
  return brokenResult<Output>(plan, state, ids, error)
}

/** Emits events of a run that never got as far as its log. */
export function unlogged(plan: AgentPlan, hub: EventHub, { runId, sessionId }: RunIds): Journal['emit'] {
  let passing = 0
  return (type, payload) => {
    const place = { runId, step: 0, agent: plan.name, at: Date.now() }
    hub.emit(`${sessionId}:0~${passing++}`, place, type, payload)
  }
}
