import { isRecord } from '@provost/core'

/** Whether a request was sent to this machine by one of its names. A page elsewhere cannot make a browser say so. */
export function isLocal(hostname: string): boolean {
  return (
    hostname === 'localhost' ||
    hostname.endsWith('.localhost') ||
    hostname === '[::1]' ||
    hostname === '::1' ||
    /^(?:::ffff:)?127(?:\.\d{1,3}){3}$/u.test(hostname)
  )
}

/** What proxies say of those for whom they ask. */
const proxyHeader = /^(?:forwarded|via|x-forwarded(?:-.*)?|x-real-ip|x-client-ip|true-client-ip|cf-connecting-ip)$/u

/**
 * Whether a request shows that somebody on another machine may have sent it: by the name that it asks for, by its peer's address
 * where the host of the server tells it, or by what a proxy has left on it.
 *
 * @param env what Node's adapter of Hono gives along with a request.
 */
export function isRemote(request: Request, env: unknown): boolean {
  if (!isLocal(new URL(request.url).hostname)) return true
  for (const name of request.headers.keys()) if (proxyHeader.test(name)) return true
  const incoming = incomingOf(env)
  if (!incoming) return false
  // A proxy that says nothing else still speaks the old HTTP: nginx does, unless told otherwise.
  return incoming.httpVersion === '1.0' || !isLocal(String(incoming.address))
}

interface Incoming {
  readonly httpVersion: unknown
  readonly address: unknown
}

function incomingOf(env: unknown): Incoming | undefined {
  const incoming = isRecord(env) ? env['incoming'] : undefined
  if (!isRecord(incoming)) return undefined
  const { httpVersion, socket } = incoming
  return { httpVersion, address: isRecord(socket) ? socket['remoteAddress'] : undefined }
}
