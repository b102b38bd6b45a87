import type { Agent, Session } from '@provost/agent'
import { resolvedAgentOf, runStandalone } from '@provost/agent/internal'
import type { FanOut, FanOutResult, SessionStore } from '@provost/core'

/** Who a fan-out is for. */
interface For {
  readonly agent?: Agent<unknown, never>
  readonly session?: Session<unknown, never>
  readonly store?: SessionStore
}

/** Runs a fan-out as the only work of a run, as @provost/teams does. */
export function fannedOut<T = string>(
  options: FanOut<T>,
  { agent, session, store }: For = {},
): Promise<FanOutResult<T>> {
  return runStandalone(
    {
      name: 'fan_out',
      agent: agent && resolvedAgentOf(agent).options,
      store,
      within: session && { session, same: 'fan-out' },
      hasEffects: true,
    },
    (ctx) => ctx.fanOut(options),
  )
}
