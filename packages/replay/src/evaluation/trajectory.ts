import type { AgentEvent, ErrorInfo, Json, RunStatus } from '@provost/core'

/** A tool call of a run, of its children, or of its composite tools. */
export interface TrajectoryCall {
  readonly callId: string
  readonly agent: string
  readonly toolName: string
  readonly input: Json
  /**
   * `refused`: it did not run, because a policy, a human or its schema refused it. `waits`: the run ended before it had a
   * result.
   */
  readonly outcome: 'ok' | 'failed' | 'refused' | 'waits'
}

/** What a run did. */
export interface Trajectory {
  readonly status: RunStatus
  /** The last answer. */
  readonly answer: string
  /** The output of an agent with an output schema. */
  readonly output?: Json
  /** In the order in which they were written or started. */
  readonly calls: readonly TrajectoryCall[]
  /** Model calls of the run and its children. */
  readonly steps: number
  readonly inputTokens: number
  readonly outputTokens: number
  /** US dollars; undefined if a price is unknown. */
  readonly cost?: number
  readonly durationMs: number
  readonly error?: ErrorInfo
}

/**
 * Returns the trajectory of a run from its events.
 *
 * @param events of one run, with those of its children.
 *
 * @example
 * const trajectory = await trajectoryOf(desk.stream('Refund order 17.'))
 */
export async function trajectoryOf(events: Iterable<AgentEvent> | AsyncIterable<AgentEvent>): Promise<Trajectory> {
  const calls = new Map<string, TrajectoryCall>()
  const started = new Set<string>()
  let steps = 0
  let end: Extract<AgentEvent, { type: 'agent.end' }> | undefined
  let first: number | undefined
  let last = 0
  const settle = (callId: string, outcome: TrajectoryCall['outcome']): void => {
    const call = calls.get(callId)
    if (call) calls.set(callId, { ...call, outcome })
  }
  for await (const event of events) {
    first ??= event.at
    last = event.at
    if (event.type === 'tool.call.end' || event.type === 'tool.execute.start') {
      const { callId, agent, toolName, input } = event
      calls.set(callId, { callId, agent, toolName, input, outcome: 'waits' })
      if (event.type === 'tool.execute.start') started.add(callId)
    } else if (event.type === 'tool.execute.end') {
      settle(event.callId, 'ok')
    } else if (event.type === 'tool.execute.error') {
      settle(event.callId, started.has(event.callId) ? 'failed' : 'refused')
    } else if (event.type === 'step.end') steps += 1
    else if (event.type === 'agent.end' && event.parents.length === 0) end = event
  }
  return {
    status: end?.status ?? 'suspended',
    answer: end?.text ?? '',
    ...(end?.output !== undefined && { output: end.output }),
    calls: [...calls.values()],
    steps,
    inputTokens: end?.usage.inputTokens ?? 0,
    outputTokens: end?.usage.outputTokens ?? 0,
    ...(end?.cost !== undefined && { cost: end.cost }),
    durationMs: last - (first ?? last),
    ...(end?.error && { error: end.error }),
  }
}
