import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { extname } from 'node:path'

import { isRecord } from '@provost/core'
import type { Hono } from 'hono'

import { HttpError, errorResponse } from '../http/http-error.ts'
import type { ConsoleOptions, ConsolePage } from '../options/console-options.ts'
import type { ConsoleSetup } from './console-setup.ts'
import { htmlOf, missingPage } from './page-html.ts'

const types: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/**
 * Adds the routes of the console's page: its assets, and `index.html` at all other paths below, so that a link to a view works.
 * They need no rights, because they have no data.
 *
 * @param prefix path of the server's public address, such as `/agents`; empty at the root.
 */
export function addPageRoutes(app: Hono, { path, page: given }: ConsoleSetup, prefix: string): void {
  let loading: Promise<LoadedPage | undefined> | undefined
  const load = (): Promise<LoadedPage | undefined> => (loading ??= loadPage(given))
  const mount = prefix + path

  app.get(path, () => new Response(null, { status: 308, headers: { location: `${mount}/` } }))
  app.get(`${path}/assets/:name`, async (context) => {
    const page = await load()
    const name = context.req.param('name')
    const type = types[extname(name)]
    // Only names of the built page: a path outside of its folder is none of them.
    if (!page?.assets.has(name) || type === undefined) return errorResponse(unknownAsset())
    const body = await readFile(new URL(`assets/${name}`, page.root))
    return new Response(new Uint8Array(body), {
      headers: {
        ...headersOf(),
        'content-type': type,
        // Their names contain a hash of their content.
        'cache-control': 'public, max-age=31536000, immutable',
      },
    })
  })
  app.get(`${path}/*`, async () => {
    const page = await load()
    const nonce = randomBytes(16).toString('base64url')
    const body = page ? htmlOf(page.html, { mount, prefix, nonce }) : missingPage
    return new Response(body, {
      status: page ? 200 : 501,
      headers: { ...headersOf(nonce), 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' },
    })
  })
}

interface LoadedPage {
  readonly root: URL
  readonly html: string
  readonly assets: ReadonlySet<string>
}

/** Returns the page; undefined if the package is not installed or not built. */
async function loadPage(given: ConsoleOptions['page']): Promise<LoadedPage | undefined> {
  try {
    // The name is a value, so that bundlers leave the optional package out.
    const name: string = '@provost/console'
    const found: unknown = await (given ?? import(name))
    if (!isPage(found)) return undefined
    const html = await readFile(new URL('index.html', found.root), 'utf8')
    return { root: found.root, html, assets: new Set(found.assets) }
  } catch (thrown) {
    const code = isRecord(thrown) ? thrown['code'] : undefined
    if (code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND' || code === 'ENOENT') return undefined
    throw thrown
  }
}

function isPage(value: unknown): value is ConsolePage {
  return isRecord(value) && value['root'] instanceof URL && Array.isArray(value['assets'])
}

function headersOf(nonce?: string): Readonly<Record<string, string>> {
  const style = nonce === undefined ? "'self'" : `'self' 'nonce-${nonce}'`
  const policy = [
    ...["default-src 'none'", "script-src 'self'", `style-src ${style}`, "connect-src 'self'", "img-src 'self' data:"],
    ...["base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"],
  ]
  return {
    'content-security-policy': policy.join('; '),
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'cross-origin-opener-policy': 'same-origin',
  }
}

function unknownAsset(): HttpError {
  return new HttpError(404, {
    code: 'unknown-route',
    message: 'The console has no such file.',
    hint: 'Load the page again: it may be of another release.',
  })
}
