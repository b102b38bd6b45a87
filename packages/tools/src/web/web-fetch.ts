import { checkChoice, checkOptions, ProvostError } from '@provost/core'
import type { KnownKeys, Tool } from '@provost/core'
import { z } from 'zod'

import { cut } from '../definition/issues.ts'
import { rich } from '../definition/rich.ts'
import { tool } from '../definition/tool.ts'
import { isBinary } from '../file-search/text.ts'
import { decodeText } from './charset.ts'
import type { FetchRules, Page } from './fetch-page.ts'
import type { HostLookup } from './target.ts'

/** Options of {@link webFetchTool}. */
export interface WebFetchOptions {
  /**
   * Hosts that may be fetched although they are private or use another port: `wiki.corp.example`, `127.0.0.1:8080`,
   * `*.corp.example`. Public hosts need no entry.
   */
  readonly allow?: readonly string[]
  /**
   * How a redirect to another host is handled. `same-host`, the default, reports it, and the model requests the new
   * URL, so that policies see every host. `any` follows up to 5 redirects.
   */
  readonly redirects?: 'same-host' | 'any'
  /** Milliseconds for all of it: names, connections, redirects and body. Default 15,000. */
  readonly timeoutMs?: number
  /**
   * Resolves the addresses of a host. Default: the resolver of the system. The addresses are checked before the
   * connection.
   */
  readonly lookup?: HostLookup
}

/** The content of a page. */
export interface WebFetchResult {
  /** The final URL. */
  readonly url: string
  readonly status: number
  readonly title: string
  readonly text: string
  /** There is more. */
  readonly truncated: boolean
  /** The target on another host, if that was not followed. */
  readonly redirect?: string
}

const defaultTimeoutMs = 15_000
/** With the lines around it the result stays under 50 KB. */
const maxTextBytes = 48 * 1024
const maxUrlCharacters = 2_000

const optionKeys = {
  allow: true,
  redirects: true,
  timeoutMs: true,
  lookup: true,
} satisfies KnownKeys<WebFetchOptions>

/**
 * Returns a tool that fetches a public web page and returns its readable text: at most 50 KB, within 15 seconds.
 *
 * Private, loopback, link-local, shared, multicast and metadata addresses are rejected in every spelling, after DNS and
 * at each redirect, and the connection uses the checked address. At most 5 MB of a page are read, decompressed. The
 * result is untrusted, with the responding hosts as its sources.
 *
 * @example
 * const tools = [webFetchTool({ allow: ['wiki.corp.example'] })]
 */
export function webFetchTool(options: WebFetchOptions = {}): Tool<{ url: string }, WebFetchResult, unknown> {
  checkOptions(options, optionKeys, 'webFetchTool')
  const { allow = [], redirects = 'same-host', timeoutMs = defaultTimeoutMs, lookup } = options
  checkChoice(redirects, ['same-host', 'any'], 'redirects', 'webFetchTool')
  return tool({
    name: 'web_fetch',
    description: 'Fetches a public web page with GET and gives its text.',
    effect: 'egress',
    idempotent: true,
    timeoutMs: timeoutMs + 5_000,
    input: z.object({ url: z.string().min(1).max(maxUrlCharacters).describe('Such as https://example.com/page.') }),
    args: { url: 'destination' },
    async execute({ url }, ctx) {
      // Loaded by the first call: most programs never make one.
      const [{ fetchPage }, { lookupHost }] = await Promise.all([import('./fetch-page.ts'), import('./target.ts')])
      const rules: FetchRules = { allow, redirects, timeoutMs, lookup: lookup ?? lookupHost }
      const page = await fetchPage(url, rules, ctx.signal)
      const result = await resultOf(page)
      return rich(result, {
        content: [{ type: 'text', text: shown(result) }],
        label: { integrity: 'untrusted', sources: page.hosts },
      })
    },
  })
}

async function resultOf(page: Page): Promise<WebFetchResult> {
  const { status, bytes, contentType, redirect } = page
  const url = cut(page.url.href, maxUrlCharacters)
  if (redirect) {
    const to = cut(redirect.href, maxUrlCharacters)
    return { url, status, title: '', text: '', truncated: false, redirect: to }
  }
  const mediaType = (contentType.split(';', 1)[0] ?? '').trim().toLowerCase()
  const text = isText(mediaType, bytes) ? decodeText(bytes, contentType) : undefined
  if (text === undefined)
    throw new ProvostError('not-text', `The page is not text but ${JSON.stringify(mediaType.slice(0, 100))}.`, {
      hint: 'Only text can be fetched: look for a page about it.',
    })
  if (!isHtml(mediaType, text)) return { url, status, title: '', ...bounded(printable(text), page.truncated) }
  const { readableText } = await import('./readable.ts')
  const readable = readableText(text, page.url, maxTextBytes)
  return { url, status, title: readable.title, ...bounded(readable.text, page.truncated || readable.truncated) }
}

function isText(mediaType: string, bytes: Uint8Array): boolean {
  if (/^text\/|[/+](?:json|xml|xhtml\+xml)$|^application\/(?:javascript|x-javascript|yaml|toml|x-sh)$/.test(mediaType))
    return true
  return (mediaType === '' || mediaType === 'application/octet-stream') && !isBinary(bytes)
}

function isHtml(mediaType: string, text: string): boolean {
  if (mediaType === 'text/html' || mediaType === 'application/xhtml+xml') return true
  return mediaType === '' && /^\s{0,100}<(?:!doctype html|html|head|body)\b/i.test(text.slice(0, 200))
}

function bounded(text: string, cutBefore: boolean): Pick<WebFetchResult, 'text' | 'truncated'> {
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(maxTextBytes))
  return { text: text.slice(0, read), truncated: cutBefore || read < text.length }
}

/** Without control characters, which a terminal or a log would obey. */
function printable(text: string): string {
  return text.replaceAll(/[^\P{Cc}\n\t]/gu, '')
}

function shown({ url, status, title, text, truncated, redirect }: WebFetchResult): string {
  if (redirect !== undefined)
    return `[${url} redirects to another host, which was not asked: ${redirect}\nFetch that if it is wanted.]`
  const head = [url, ...(status === 200 ? [] : [`[HTTP status ${status}]`]), ...(title === '' ? [] : [title])]
  return `${head.join('\n')}\n\n${text === '' ? '[The page has no text.]' : text}${truncated ? '\n[There is more.]' : ''}`
}
