import { isRecord } from '@provost/core'

/** Whether a host name is one of this machine's own. A page of another site cannot make a browser send one. */
export function isLocal(hostname: string): boolean {
  return (
    hostname === 'localhost' ||
    hostname.endsWith('.localhost') ||
    hostname === '[::1]' ||
    hostname === '::1' ||
    /^(?:::ffff:)?127(?:\.\d{1,3}){3}$/u.test(hostname)
  )
}

/** Headers in which proxies describe their clients. */
const proxyHeader = /^(?:forwarded|via|x-forwarded(?:-.*)?|x-real-ip|x-client-ip|true-client-ip|cf-connecting-ip)$/u

/**
 * Whether a client on another machine may have sent a request. The signs are its host name, the address of its peer where
 * the host of the server passes it, and traces of a proxy.
 *
 * @param env value that Hono's adapter for Node passes with a request.
 */
export function isRemote(request: Request, env: unknown): boolean {
  if (!isLocal(new URL(request.url).hostname)) return true
  for (const name of request.headers.keys()) if (proxyHeader.test(name)) return true
  const incoming = incomingOf(env)
  if (!incoming) return false
  // A proxy without headers still shows by HTTP/1.0, which is nginx's default.
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
