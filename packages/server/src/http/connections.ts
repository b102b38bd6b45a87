import { HttpError } from './http-error.ts'

/** The open event streams of a server. */
export interface Connections {
  /**
   * Counts one more stream of a principal.
   * @returns a function that ends the count.
   * @throws HttpError 429
   */
  take(principal: string): () => void
  /** Returns the abort controller of one stream. */
  control(sessionId: string): AbortController
  done(control: AbortController): void
  /** Ends the streams of a session, or all streams: their clients reconnect, to any process. */
  cut(sessionId?: string): void
}

export function createConnections(most: number): Connections {
  const counts = new Map<string, number>()
  const controls = new Map<AbortController, string>()
  return {
    take(principal) {
      const count = counts.get(principal) ?? 0
      if (count >= most) {
        throw new HttpError(
          429,
          {
            code: 'too-many',
            message: `You have ${count} event streams open.`,
            hint: 'Close one, or read several sessions one after the other.',
            retryable: true,
          },
          { 'retry-after': '5' },
        )
      }
      counts.set(principal, count + 1)
      let given = true
      return () => {
        if (!given) return
        given = false
        const left = (counts.get(principal) ?? 1) - 1
        if (left > 0) counts.set(principal, left)
        else counts.delete(principal)
      }
    },
    control(sessionId) {
      const control = new AbortController()
      controls.set(control, sessionId)
      return control
    },
    done(control) {
      controls.delete(control)
    },
    cut(sessionId) {
      for (const [control, id] of controls) if (sessionId === undefined || id === sessionId) control.abort()
    },
  }
}
