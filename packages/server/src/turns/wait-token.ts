/** A call of a client's tool, or a wait of another kind, in the session that waits for it. */
export interface SessionWait {
  readonly sessionId: string
  /** Of the call or the wait. */
  readonly id: string
}

/** Characters of an id that a client sends back. */
const longest = 2_000

/**
 * Returns the id of a wait as clients receive it. It names the session, so that the answer of a client without a session
 * id finds it.
 */
export function waitToken(prefix: string, { sessionId, id }: SessionWait): string {
  return `${prefix}_${Buffer.from(JSON.stringify([sessionId, id])).toString('base64url')}`
}

/** Reads an id that {@link waitToken} made; undefined for any other. */
export function waitOf(prefix: string, token: string): SessionWait | undefined {
  if (token.length > longest || !token.startsWith(`${prefix}_`)) return undefined
  const given = jsonIn(token.slice(prefix.length + 1))
  if (!Array.isArray(given) || given.length !== 2) return undefined
  const [sessionId, id]: readonly unknown[] = given
  return typeof sessionId === 'string' && typeof id === 'string' ? { sessionId, id } : undefined
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(Buffer.from(text, 'base64url').toString('utf8'))
  } catch {
    return undefined
  }
}
