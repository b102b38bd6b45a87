import { ProvostError } from '@provost/core'

import { ask } from './request.ts'
import type { Answer } from './request.ts'
import { judgeTarget, parseUrl, showUrl } from './target.ts'
import type { TargetRules } from './target.ts'

/** Bytes of a page that are read, compressed and decompressed. */
const maxBodyBytes: number = 5 * 1024 * 1024
const maxRedirects = 5

/** Options of fetching a page. */
export interface FetchRules extends TargetRules {
  /** Milliseconds for all of it: names, connections, redirects, body. */
  readonly timeoutMs: number
  readonly redirects: 'same-host' | 'any'
}

/** The result of a URL. */
export interface Page {
  /** The last one asked. */
  readonly url: URL
  /** Every host that contributed, in order. */
  readonly hosts: readonly string[]
  readonly status: number
  readonly contentType: string
  readonly bytes: Uint8Array
  readonly truncated: boolean
  /** The target on another host, if that was not followed. */
  readonly redirect?: URL
}

/**
 * Fetches a page through its redirects, each of which is checked like the first URL.
 *
 * @throws ProvostError `invalid-url`, `address-refused`, `host-not-found`, `fetch-failed`, `fetch-timeout`,
 * `too-many-redirects`; the signal's reason.
 */
export async function fetchPage(text: string, rules: FetchRules, signal: AbortSignal): Promise<Page> {
  const late = AbortSignal.timeout(rules.timeoutMs)
  const either = AbortSignal.any([signal, late])
  try {
    return await follow(parseUrl(text), rules, either)
  } catch (error) {
    if (signal.aborted || !late.aborted) throw error
    throw new ProvostError('fetch-timeout', `Fetching took more than ${rules.timeoutMs} ms.`, {
      hint: 'The host is slow. Try again later or look elsewhere.',
      cause: error,
    })
  }
}

async function follow(first: URL, rules: FetchRules, signal: AbortSignal): Promise<Page> {
  const hosts: string[] = []
  let target = await judgeTarget(first, rules, signal)
  for (let redirects = 0; redirects <= maxRedirects; redirects++) {
    const { url } = target
    if (!hosts.includes(url.hostname)) hosts.push(url.hostname)
    const answer = await ask(target, signal)
    const { status } = answer
    const contentType = answer.headers['content-type'] ?? ''
    const next = redirectOf(answer, url)
    if (!next) return { url, hosts, status, contentType, ...(await answer.body(maxBodyBytes)) }
    answer.close()
    target = await judgeTarget(next, rules, signal)
    // Only the first host was authorized with the call, so a redirect to another one is not followed.
    if (rules.redirects === 'same-host' && !isSameHost(url, next))
      return { url, hosts, status, contentType, bytes: new Uint8Array(), truncated: false, redirect: next }
  }
  throw new ProvostError('too-many-redirects', `${showUrl(first)} redirects more than ${maxRedirects} times.`, {
    hint: 'The redirects may be circular. Look elsewhere.',
  })
}

function redirectOf({ status, headers }: Answer, url: URL): URL | undefined {
  if (![301, 302, 303, 307, 308].includes(status) || headers.location === undefined) return undefined
  return parseUrl(headers.location, url)
}

function isSameHost(a: URL, b: URL): boolean {
  const bare = (url: URL): string => url.hostname.replace(/^www\./, '')
  return bare(a) === bare(b) && a.port === b.port
}
