import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { brotliCompressSync, constants, deflateSync, gzipSync } from 'node:zlib'

import type { WebFetchOptions, WebFetchResult } from '@provost/tools'
import { webFetchTool } from '@provost/tools'
import type { ToolOutcome } from '@provost/tools'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { call, seen } from '../executor/call.ts'

type Page = (request: IncomingMessage, response: ServerResponse) => void

const full = process.env['PROVOST_TEST_FULL'] === '1'

const pages = new Map<string, Page>()
const asked: string[] = []
const server = createServer((request, response) => {
  asked.push(request.url ?? '')
  const page = pages.get((request.url ?? '').split('?', 1)[0] ?? '')
  if (page) page(request, response)
  else response.writeHead(404, { 'content-type': 'text/plain' }).end('nothing here')
})
let host = ''

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  host = `127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

/** Serves a page at its own path and returns its URL. */
function at(path: string, page: Page | string, type = 'text/html; charset=utf-8'): string {
  pages.set(path, typeof page === 'string' ? (_, r) => void r.writeHead(200, { 'content-type': type }).end(page) : page)
  return `http://${host}${path}`
}

function fetching(url: string, options: WebFetchOptions = {}, signal?: AbortSignal): Promise<ToolOutcome> {
  return call(webFetchTool({ allow: [host], ...options }), { url }, signal ? { signal, graceMs: 10_000 } : {})
}

async function got(url: string, options?: WebFetchOptions): Promise<WebFetchResult> {
  const outcome = await fetching(url, options)
  expect(outcome.error).toBeUndefined()
  return outcome.value as unknown as WebFetchResult
}

test('web_fetch returns the readable text of a page, untrusted and with its host as the source', async () => {
  const url = at('/page', '<title>A &amp; B</title><h1>Hello</h1><p>Read <a href="/more">more</a>.</p>')
  const outcome = await fetching(url)
  expect(outcome.value).toEqual({
    url,
    status: 200,
    title: 'A & B',
    text: `# Hello\n\nRead [more](http://${host}/more).`,
    truncated: false,
  })
  expect(outcome.label).toEqual({ integrity: 'untrusted', confidentiality: 'internal', sources: ['127.0.0.1'] })
  expect(seen(outcome)).toBe(`${url}\nA & B\n\n# Hello\n\nRead [more](http://${host}/more).`)
  expect(webFetchTool()).toMatchObject({ effect: 'egress', idempotent: true, roles: { '/url': 'destination' } })
})

test('web_fetch reports a missing page with its text', async () => {
  const outcome = await fetching(`http://${host}/gone`)
  expect(outcome.value).toMatchObject({ status: 404, text: 'nothing here' })
  expect(seen(outcome)).toContain('[HTTP status 404]')
})

test('web_fetch returns text and JSON unchanged, and rejects binary content', async () => {
  expect((await got(at('/a.json', '{"a": [1]}', 'application/json'))).text).toBe('{"a": [1]}')
  expect((await got(at('/a.txt', '<b>\u0007\n\tx', 'text/plain'))).text).toBe('<b>\n\tx')
  expect(await fetching(at('/a.png', '\u0089PNG', 'image/png'))).toMatchObject({ error: { code: 'not-text' } })
  expect(await fetching(at('/a.bin', 'a\0b', 'application/octet-stream'))).toMatchObject({
    error: { code: 'not-text' },
  })
})

describe('web_fetch connects to public addresses only:', () => {
  test.for([
    'http://127.0.0.1/',
    'http://127.1/',
    'http://0x7f.1/',
    'http://0x7f000001/',
    'http://2130706433/',
    'http://017700000001/',
    'http://0177.0.0.1/',
    'http://0/',
    'http://0.0.0.0/',
    'http://１２７.０.０.１/',
    'http://127。0。0。1/',
    'http://10.0.0.1/',
    'http://172.16.0.1/',
    'http://172.31.255.255/',
    'http://192.168.1.1/',
    'http://100.64.0.1/',
    'http://100.100.100.200/latest/meta-data',
    'http://169.254.169.254/latest/meta-data/',
    'http://0xa9fea9fe/',
    'http://168.63.129.16/',
    'http://192.0.0.192/',
    'http://198.18.0.1/',
    'http://203.0.113.7/',
    'http://224.0.0.1/',
    'http://240.0.0.1/',
    'http://255.255.255.255/',
    'http://[::]/',
    'http://[::1]/',
    'http://[0:0:0:0:0:0:0:1]/',
    'http://[::127.0.0.1]/',
    'http://[::ffff:127.0.0.1]/',
    'http://[::ffff:7f00:1]/',
    'http://[::ffff:a9fe:a9fe]/',
    'http://[::ffff:0:127.0.0.1]/',
    'http://[64:ff9b::127.0.0.1]/',
    'http://[64:ff9b::a9fe:a9fe]/',
    'http://[64:ff9b:1::7f00:1]/',
    'http://[2002:7f00:1::]/',
    'http://[2002:a9fe:a9fe::1]/',
    'http://[2001:0:7f00:1::]/',
    'http://[2001:db8::1]/',
    'http://[fc00::1]/',
    'http://[fd00:ec2::254]/',
    'http://[fe80::1]/',
    'http://[fec0::1]/',
    'http://[ff02::1]/',
    'http://[100::1]/',
    'http://[5f00::1]/',
    'https://127.0.0.1/',
  ])('%s is refused', async (url) => {
    expect(await fetching(url)).toMatchObject({ outcome: 'error', error: { code: 'address-refused' } })
  })

  test.for([
    ['127.0.0.1'],
    ['::1'],
    ['169.254.169.254'],
    ['10.0.0.1', 'fd00::1'],
    ['::ffff:10.0.0.1'],
    ['fe80::1%eth0'],
    ['not an address'],
  ])('a name that DNS resolves to %j is refused', async (addresses) => {
    const outcome = await fetching('http://innocent.example/', { lookup: async () => addresses })
    expect(outcome).toMatchObject({ error: { code: 'address-refused' } })
    expect(outcome.error?.message).not.toContain(addresses[0])
  })

  test('a name that DNS does not resolve in time is a clear error', async () => {
    const unknown = async (): Promise<never> => Promise.reject(new Error('ENOTFOUND'))
    expect(await fetching('http://unknown.example/', { lookup: unknown })).toMatchObject({
      error: { code: 'host-not-found' },
    })
    const silent = (): Promise<never> => new Promise(() => undefined)
    expect(await fetching('http://slow.example/', { lookup: silent, timeoutMs: 20 })).toMatchObject({
      error: { code: 'fetch-timeout' },
    })
  })

  test('a name is resolved once, and the connection uses the checked address', async () => {
    const port = host.split(':')[1]
    let looked = 0
    // The second answer is the address of a rebinding attack.
    const lookup = async (): Promise<readonly string[]> => (looked++ === 0 ? ['127.0.0.1'] : ['127.0.0.2'])
    const url = `http://rebind.example:${port}/rebound`
    at('/rebound', 'here', 'text/plain')
    expect(await got(url, { allow: [`rebind.example:${port}`], lookup })).toMatchObject({ text: 'here' })
    expect(looked).toBe(1)
  })

  test.for([
    ['file:///etc/passwd', 'only http and https'],
    ['ftp://example.com/', 'only http and https'],
    ['data:text/html,x', 'only http and https'],
    ['gopher://example.com/', 'only http and https'],
    ['http://user:hunter2@example.com/', 'name or a password'],
    ['http://example.com:22/', 'port 22'],
    ['https://example.com:80/', 'port 80'],
    ['example.com', 'no absolute URL'],
    ['http://[fe80::1%25eth0]/', 'no absolute URL'],
    ['http://1.2.3.4.5/x\0', 'no absolute URL'],
  ])('%s is refused before any request', async ([url = '', why]) => {
    const lookup = async (): Promise<never> => expect.unreachable()
    const outcome = await fetching(url, { lookup })
    expect(outcome.error?.code).toBe('invalid-url')
    expect(outcome.error?.message).toContain(why)
    expect(outcome.error?.message).not.toContain('hunter2')
  })

  test('an allowed address is allowed in its own spelling only', async () => {
    const lookup = async (): Promise<readonly string[]> => ['127.0.0.2']
    const code = async (url: string, allow: string[]) =>
      (await fetching(url, { allow, lookup, timeoutMs: 50 })).error?.code
    // The check permits it; the request itself may still fail.
    const refused = expect.stringMatching(/^(?:address-refused|invalid-url)$/)
    expect(await code('http://wiki.corp.example/', ['*.corp.example'])).not.toEqual(refused)
    expect(await code('http://wiki.corp.example/', ['WIKI.corp.example'])).not.toEqual(refused)
    expect(await code('http://corp.example/', ['*.corp.example'])).toBe('address-refused')
    expect(await code('http://evilcorp.example/', ['*.corp.example'])).toBe('address-refused')
    expect(await code('http://wiki.corp.example:8080/', ['wiki.corp.example'])).toBe('invalid-url')
    expect(await code('http://wiki.corp.example/', ['wiki.corp.example:8080'])).toBe('address-refused')
  })
})

describe('redirects', () => {
  const to = (location: string, status = 302): Page => {
    return (_, response) => void response.writeHead(status, { location }).end('moved')
  }

  test.for([301, 302, 303, 307, 308])('with the status %i are followed on the same host', async (status) => {
    at('/end', 'the end', 'text/plain')
    const result = await got(at(`/from-${status}`, to('/end', status)))
    expect(result).toMatchObject({ url: `http://${host}/end`, text: 'the end', status: 200 })
  })

  test.for([
    'http://169.254.169.254/latest/meta-data/iam/security-credentials/',
    'http://[fd00:ec2::254]/',
    'http://localhost/',
    '//0x7f.1/',
  ])('to %s are refused', async (location) => {
    const lookup = async (): Promise<readonly string[]> => ['127.0.0.1', '::1']
    for (const redirects of ['any', 'same-host'] as const)
      expect(await fetching(at('/trap', to(location)), { lookup, redirects })).toMatchObject({
        outcome: 'error',
        error: { code: 'address-refused' },
      })
  })

  test('to another scheme or with a password are refused', async () => {
    for (const location of ['file:///etc/passwd', 'http://u:p@example.com/'])
      expect(await fetching(at('/trap', to(location)))).toMatchObject({ error: { code: 'invalid-url' } })
  })

  test('to another host are reported, and followed if allowed, with each host as a source', async () => {
    const port = host.split(':')[1]
    const other = `other.example:${port}`
    const url = at('/away', to(`http://${other}/landing?q=1`))
    at('/landing', 'landed', 'text/plain')
    const options = { allow: [host, other], lookup: async () => ['127.0.0.1'] }
    asked.length = 0
    const told = await fetching(url, options)
    expect(told.value).toMatchObject({ redirect: `http://${other}/landing?q=1`, text: '', url })
    expect(seen(told)).toContain('was not asked')
    expect(asked).toEqual(['/away'])
    const followed = await fetching(url, { ...options, redirects: 'any' })
    expect(followed.value).toMatchObject({ text: 'landed', url: `http://${other}/landing?q=1` })
    expect(followed.label.sources).toEqual(['127.0.0.1', 'other.example'])
  })

  test('stop after a limit', async () => {
    asked.length = 0
    expect(await fetching(at('/round', to('/round')))).toMatchObject({ error: { code: 'too-many-redirects' } })
    expect(asked.length).toBe(6)
  })
})

describe('web_fetch limits the cost of a hostile server:', () => {
  test('a slow body ends at the total time limit', async () => {
    const drip: Page = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/plain' })
      const timer = setInterval(() => response.write('x'), 5)
      response.on('close', () => clearInterval(timer))
    }
    expect(await fetching(at('/drip', drip), { timeoutMs: 60 })).toMatchObject({ error: { code: 'fetch-timeout' } })
  })

  test('a slow header, or silence, ends at the time limit', async () => {
    const header: Page = (_, response) => {
      const { socket } = response
      socket?.write('HTTP/1.1 200 OK\r\n')
      const timer = setInterval(() => socket?.write('x-a: b\r\n'), 5)
      socket?.on('close', () => clearInterval(timer))
    }
    expect(await fetching(at('/drip', header), { timeoutMs: 60 })).toMatchObject({ error: { code: 'fetch-timeout' } })
    const silent: Page = () => undefined
    expect(await fetching(at('/silent', silent), { timeoutMs: 60 })).toMatchObject({ error: { code: 'fetch-timeout' } })
  })

  test('an abort ends the request', async () => {
    const controller = new AbortController()
    const hang: Page = () => controller.abort()
    expect(await fetching(at('/hang', hang), {}, controller.signal)).toMatchObject({ outcome: 'aborted' })
  })

  test('an endless body is read to 5 MB', async () => {
    let written = 0
    const endless: Page = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/plain' })
      const more = (): void => {
        while (!response.destroyed && response.write('x'.repeat(65_536))) written += 65_536
      }
      response.on('drain', more)
      more()
    }
    const result = await got(at('/endless', endless))
    expect(result.truncated).toBe(true)
    expect(Buffer.byteLength(result.text)).toBe(48 * 1024)
    expect(written).toBeLessThan(30 * 1024 * 1024)
  })

  const bomb = Buffer.alloc((full ? 32 : 8) * 1024 * 1024, 'a')
  test.for([
    ['gzip', gzipSync(bomb, { level: 1 })],
    ['deflate', deflateSync(bomb, { level: 1 })],
    ['br', brotliCompressSync(bomb, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } })],
  ] as const)('a compression bomb in %s is unpacked to 5 MB', async ([encoding, body]) => {
    const page: Page = (_, response) =>
      void response.writeHead(200, { 'content-type': 'text/plain', 'content-encoding': encoding }).end(body)
    const result = await got(at(`/bomb-${encoding}`, page))
    expect(result).toMatchObject({ truncated: true })
    expect(result.text).toHaveLength(48 * 1024)
  })

  test('an unknown, repeated or broken compression is a clear error', async () => {
    for (const encoding of ['zstd', 'gzip, gzip', 'x'.repeat(300), 'gzip']) {
      const page: Page = (_, response) =>
        void response.writeHead(200, { 'content-type': 'text/plain', 'content-encoding': encoding }).end('no gzip')
      const outcome = await fetching(at('/packed', page))
      expect(outcome).toMatchObject({ error: { code: 'fetch-failed' } })
      expect(outcome.error?.message.length).toBeLessThan(300)
    }
  })

  test('a valid compressed page is read entirely', async () => {
    const page: Page = (_, response) =>
      void response
        .writeHead(200, { 'content-type': 'text/plain', 'content-encoding': 'gzip' })
        .end(gzipSync('hello '.repeat(1_000)))
    expect(await got(at('/packed', page))).toMatchObject({ truncated: false, text: 'hello '.repeat(1_000) })
  })

  test('an endless header, no HTTP and a broken connection are clear errors', async () => {
    const answers = [`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(100_000)}`, 'SSH-2.0-OpenSSH\r\n', '']
    for (const answer of answers) {
      const page: Page = (_, response) => void response.socket?.end(answer)
      expect(await fetching(at('/broken', page))).toMatchObject({ error: { code: 'fetch-failed' } })
    }
    const cut: Page = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/plain', 'content-length': '1000' })
      response.write('half', () => response.destroy())
    }
    expect(await fetching(at('/cut', cut))).toMatchObject({ error: { code: 'fetch-failed' } })
  })

  const megabyte = 1024 * 1024
  /** The largest sizes are for full runs. */
  const some = full ? 1 : 0.1
  test.for([
    ['<div>', 5 * some],
    ['<div><p>', some],
    ['<a href=x>', some],
    ['<', some],
    ['<a ', some],
    ['<!--', some],
    ['<svg>', some],
    ['<x a="', some],
    ['&', some],
    ['&#x1;', some],
    ['</b><div>', some],
  ] as const)('a page of %s, %d MB of it, is read normally', async ([part, megabytes]) => {
    const html = `<p>first</p>${part.repeat((megabytes * megabyte) / part.length)}`
    const { text } = await got(at('/deep', html))
    expect(text).toMatch(/^first/)
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(48 * 1024)
  })

  test('the result is under 50 KB in UTF-8, and is cut between characters', async () => {
    const outcome = await fetching(at('/wide', `<title>${'t'.repeat(5_000)}</title><p>${'€'.repeat(100_000)}`))
    expect(Buffer.byteLength(seen(outcome))).toBeLessThan(50 * 1024)
    expect(seen(outcome)).toMatch(/€\n\[There is more\.\]$/)
    expect(seen(outcome)).not.toContain('\uFFFD')
  })
})

describe('web_fetch decodes a page', () => {
  const text = async (html: string): Promise<string> => (await got(at('/html', html))).text

  test.for([
    ['<p>a  b\n c</p><p>d</p>', 'a b c\n\nd'],
    ['one<br>two', 'one\ntwo'],
    ['<ul><li>a<li>b<ul><li>c</ul></ul>d', '- a\n- b\n\n- c\n\nd'],
    ['<h2>Head</h2>text', '## Head\n\ntext'],
    ['<table><tr><th>a<th>b<tr><td>1<td>2</table>', '| a | b\n| 1 | 2'],
    ['<pre>  x\n    y</pre>z', 'x\n    y\n\nz'],
    ['<pre>x\u001B[2J\ty&#27;]0;z\u0007</pre>', 'x[2J\ty]0;z'],
    ['a<script>alert("</b>")</script>b<style>c</style>d<template>e</template>', 'abd'],
    ['<svg><title>no</title><text>no</text></svg>yes', 'yes'],
    ['a<!-- no -->b', 'ab'],
    ['&lt;b&gt; &nbsp;&eacute;&#8364;&amp;amp;', '<b> é€&amp;'],
    ['<div hidden>no<div>no</div>no</div>yes', 'yes'],
    ['<p style="color:red; display: none">no</p>yes', 'yes'],
    ['<span aria-hidden=true>no</span>yes', 'yes'],
    ['<input hidden>yes', 'yes'],
    ['<img alt="a cat" src=x>', '[image: a cat]'],
    [
      '<a href="javascript:x">a</a> <a href="#b">b</a> <a>c</a> <a href="https://x.example/?a=1&amp;b">d</a>',
      'a b c [d](https://x.example/?a=1&b)',
    ],
    ['<a href="https://x.example"></a>yes', 'yes'],
    ['<a href="https://x.example">x', '[x](https://x.example/)'],
    ['', ''],
  ])('%s', async ([html = '', expected]) => {
    expect(await text(`<!doctype html><body>${html}`)).toBe(expected)
  })

  test.for([
    ['text/html; charset=iso-8859-1', 'latin1', '', 'grüße'],
    ['text/html; charset="windows-1251"', Buffer.from([0xcf, 0xf0, 0xe8]), '', 'При'],
    ['text/html; charset=Shift_JIS', Buffer.from([0x93, 0xfa, 0x96, 0x7b]), '', '日本'],
    ['text/html', 'latin1', '<meta charset="latin1">', 'grüße'],
    ['text/html', 'latin1', '<meta http-equiv=content-type content="text/html; charset=ISO-8859-15">', 'grüße'],
    ['text/html', 'latin1', '', 'grüße'],
    ['text/html', 'utf8', '', 'grüße'],
    ['text/html; charset=utf-7', 'utf8', '', 'grüße'],
    ['text/html; charset=latin1', 'utf16', '', 'grüße'],
  ] as const)('in %s, %s %s', async ([type, bytes, meta, expected]) => {
    const body =
      bytes === 'utf16'
        ? Buffer.from(`\uFEFF<p>${expected}`, 'utf16le')
        : Buffer.concat([Buffer.from(`${meta}<p>`), typeof bytes === 'string' ? Buffer.from(expected, bytes) : bytes])
    const page: Page = (_, response) => void response.writeHead(200, { 'content-type': type }).end(body)
    expect((await got(at('/charset', page))).text).toBe(expected)
  })
})
