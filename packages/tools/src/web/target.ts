import { lookup as systemLookup } from 'node:dns/promises'
import { isIP } from 'node:net'

import { ProvostError } from '@provost/core'

import { cut } from '../definition/issues.ts'
import { isPublicAddress } from './address.ts'

/** The addresses of a host name, as DNS or the system's table of hosts has them. */
export type HostLookup = (hostname: string) => Promise<readonly string[]>

/** A page to request, with the checked addresses for the connection. */
export interface Target {
  readonly url: URL
  readonly addresses: readonly string[]
}

/** Decides which URLs may be fetched. */
export interface TargetRules {
  /** Hosts that are allowed wherever they are: `host`, `host:port` or `*.domain`. */
  readonly allow: readonly string[]
  readonly lookup: HostLookup
}

const maxShown = 200

/**
 * Judges a URL and finds the addresses behind its host.
 *
 * @param signal ends the wait for DNS.
 * @throws ProvostError `invalid-url`, `address-refused`, `host-not-found`; the signal's reason.
 */
export async function judgeTarget(url: URL, rules: TargetRules, signal: AbortSignal): Promise<Target> {
  const shown = showUrl(url)
  if (url.protocol !== 'http:' && url.protocol !== 'https:') throw invalid(shown, 'only http and https are fetched')
  if (url.username !== '' || url.password !== '') throw invalid(shown, 'it carries a name or a password')
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  if (host === '') throw invalid(shown, 'it names no host')
  const allowed = isAllowed(url, rules.allow)
  if (!allowed && url.port !== '') throw invalid(shown, `port ${url.port} is not the usual one of its protocol`)
  const addresses = isIP(host) === 0 ? await found(host, rules.lookup, signal) : [host]
  const usable = allowed ? addresses : addresses.filter(isPublicAddress)
  if (usable.length > 0) return { url, addresses: usable }
  throw new ProvostError('address-refused', `${shown} is refused: its host is not on the public internet.`, {
    hint: 'Only public hosts can be fetched. Do not try other spellings of the address.',
  })
}

/** Returns a URL for a message: visible, one line, short. */
export function showUrl(url: URL): string {
  return JSON.stringify(cut(url.username || url.password ? `${url.protocol}//…@${url.host}` : url.href, maxShown))
}

/** @throws ProvostError `invalid-url`. */
export function parseUrl(text: string, base?: URL): URL {
  const url = URL.parse(text, base)
  if (url) return url
  throw invalid(JSON.stringify(cut(text, maxShown)), 'it is no absolute URL')
}

function isAllowed(url: URL, allow: readonly string[]): boolean {
  const hostname = url.hostname.replace(/\.$/, '')
  return allow.some((entry) => {
    const rule = entry.toLowerCase()
    if (rule.startsWith('*.')) return url.port === '' && hostname.endsWith(rule.slice(1))
    return rule === (url.port === '' ? hostname : `${hostname}:${url.port}`)
  })
}

async function found(host: string, lookup: HostLookup, signal: AbortSignal): Promise<readonly string[]> {
  signal.throwIfAborted()
  let stop = (): void => undefined
  const stopped = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason)
    signal.addEventListener('abort', stop, { once: true })
  })
  try {
    const addresses = await Promise.race([lookup(host), stopped])
    if (addresses.length > 0) return addresses
    throw notFound(host)
  } catch (cause) {
    signal.throwIfAborted()
    throw cause instanceof ProvostError ? cause : notFound(host, cause)
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

/** Returns the addresses that the system resolves for a name. */
export async function lookupHost(hostname: string): Promise<readonly string[]> {
  const rows = await systemLookup(hostname, { all: true, verbatim: true })
  return rows.map(({ address }) => address)
}

function notFound(host: string, cause?: unknown): ProvostError {
  return new ProvostError('host-not-found', `Unknown host: ${JSON.stringify(cut(host, maxShown))}.`, {
    hint: 'Check the spelling of the URL.',
    ...(cause !== undefined && { cause }),
  })
}

function invalid(shown: string, why: string): ProvostError {
  return new ProvostError('invalid-url', `${shown} cannot be fetched: ${why}.`, {
    hint: 'Give a URL such as https://example.com/page, without user, password and port.',
  })
}
