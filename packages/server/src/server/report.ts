import type { Agent } from '@provost/agent'

import type { ErrorPlace } from '../options/server-options.ts'

/**
 * Returns a function that reports errors to the operator of the server. A failing report does not affect requests or runs.
 *
 * @param agents whose secrets are redacted in the reported errors.
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

/** Prints only the method and path of a request: its query, headers and body may hold secrets. */
function toConsole(thrown: unknown, { request, sessionId }: ErrorPlace): void {
  const asked = request ? ` at ${request.method} ${new URL(request.url).pathname}` : ''
  const session = sessionId === undefined ? '' : ` in session ${sessionId}`
  // oxlint-disable-next-line no-console -- the default if `onError` is not set
  console.error(`Provost failed${asked}${session}:`, thrown)
}
