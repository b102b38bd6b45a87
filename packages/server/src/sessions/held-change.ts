import type { SessionState } from '@provost/agent'
import type { RunChange } from '@provost/core'

import type { ErrorPlace } from '../options/server-options.ts'
import { toolsExtension } from './live-session.ts'
import { ownership } from './ownership.ts'
import type { SessionHost } from './session-host.ts'

/**
 * Returns the change as {@link heldChange} does. A rule that throws is reported, and shows nothing: it permits nothing either.
 */
export async function shownChange(
  { host, report }: { readonly host: SessionHost; report(thrown: unknown, place: ErrorPlace): void },
  session: { readonly id: string; readonly agent: string },
  state: SessionState,
): Promise<RunChange | undefined> {
  try {
    return await heldChange(host, session, state)
  } catch (thrown) {
    report(thrown, { sessionId: session.id })
    return undefined
  }
}

/**
 * Returns the change of code that keeps this process from resuming the run of a session. A run that another process is
 * running with the earlier code has none.
 */
export async function heldChange(
  { store, agentNamed, forks }: Pick<SessionHost, 'store' | 'agentNamed' | 'forks'>,
  { id, agent: name }: { readonly id: string; readonly agent: string },
  state: SessionState,
): Promise<RunChange | undefined> {
  const agent = agentNamed(name)
  if (!agent || (await agent.changeSince(state, { overrides: forks })) === undefined) return undefined
  // The tools of a client are no change.
  const { tools = [] } = (await ownership(store, id)) ?? {}
  const change = await agent.changeSince(state, { extensions: [toolsExtension(tools)], overrides: forks })
  if (change === undefined || change.rule === 'continue') return undefined
  if (state.run?.status === 'running' && (await store.leaseState(id)).holder === 'alive') return undefined
  return change
}
