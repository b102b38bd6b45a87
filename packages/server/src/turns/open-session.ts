import type { Principal } from '@provost/core'
import { ProvostError } from '@provost/core'

import { HttpError } from '../http/http-error.ts'
import type { LiveSession } from '../sessions/live-session.ts'
import { ownership } from '../sessions/ownership.ts'
import type { RemoteToolInit } from '../sessions/remote-tool.ts'
import type { Beginning, SessionHost } from '../sessions/session-host.ts'

/** Opens a session of a principal, or begins it. */
export async function openOrBegin(
  host: SessionHost,
  principal: Principal,
  beginning: Beginning & { readonly id: string },
): Promise<{ readonly live: LiveSession; readonly isNew: boolean }> {
  const { id } = beginning
  try {
    return { live: await host.open(principal, id), isNew: false }
  } catch (thrown) {
    if (!(thrown instanceof HttpError) || thrown.status !== 404) throw thrown
  }
  try {
    return { live: await host.begin(principal, beginning), isNew: true }
  } catch (thrown) {
    // Two requests may begin the same session.
    const live = await host.open(principal, id).catch(() => {
      throw thrown
    })
    return { live, isNew: false }
  }
}

/**
 * Checks that an open session has the agent and the tools of a request.
 *
 * @throws ProvostError `wrong-agent`, `invalid-tool`
 */
export async function checkSession(
  { store }: SessionHost,
  { id, agent }: LiveSession,
  wanted: { readonly agent: string; readonly tools: readonly RemoteToolInit[] },
): Promise<void> {
  if (agent.name !== wanted.agent) {
    throw new ProvostError('wrong-agent', `Session ${id} belongs to agent ${agent.name}.`, {
      hint: `Send ${agent.name} as the agent, or begin a new session.`,
    })
  }
  if (wanted.tools.length === 0) return
  const known = new Set((await ownership(store, id))?.tools.map(({ name }) => name))
  const unknown = wanted.tools.find(({ name }) => !known.has(name))
  if (!unknown) return
  throw new ProvostError('invalid-tool', `Session ${id} has no client tool ${JSON.stringify(unknown.name)}.`, {
    hint: 'Declare all tools of the client with the first request of a session.',
  })
}
