import type { Agent } from '@provost/agent'

import type { ErrorPlace } from '../options/server-options.ts'

/**
 * Tells the operator of the server. Nothing that goes wrong with the telling disturbs what is going on.
 *
 * @param agents whose secrets are taken out of what is told.
 */
export function reporter(
  agents: readonly Pick<Agent<unknown, never>, 'scrub'>[],
  onError: (error: unknown, place: ErrorPlace) => void = toConsole,
): (thrown: unknown, place: ErrorPlace) => void {
  return (given, place) => {
    const thrown = agents.reduce((said, agent) => agent.scrub(said), given)
    try {
      onError(thrown, place)
    } catch (failed) {
      toConsole(
        agents.reduce((said, agent) => agent.scrub(said), failed),
        place,
      )
      toConsole(thrown, place)
    }
  }
}

/** Of a request only its method and path: what is in the query, the headers and the body may be secret. */
function toConsole(thrown: unknown, { request, sessionId }: ErrorPlace): void {
  const asked = request ? ` at ${request.method} ${new URL(request.url).pathname}` : ''
  const session = sessionId === undefined ? '' : ` in session ${sessionId}`
  // oxlint-disable-next-line no-console -- where nobody has said where to tell it
  console.error(`Provost failed${asked}${session}:`, thrown)
}
