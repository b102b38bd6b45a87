import type { ErrorPlace } from './server-options.ts'

/** Tells whoever runs the server. Nothing that goes wrong with the telling disturbs what is going on. */
export function reporter(
  onError: (error: unknown, place: ErrorPlace) => void = toConsole,
): (thrown: unknown, place: ErrorPlace) => void {
  return (thrown, place) => {
    try {
      onError(thrown, place)
    } catch (failed) {
      toConsole(failed, place)
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
