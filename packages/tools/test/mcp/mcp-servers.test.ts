import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { mkdtemp, realpath, readFile, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'

import { mcpTools, readResultTool } from '@provost/tools'
import type { McpTools } from '@provost/tools'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { call as callTool, seen } from '../executor/call.ts'
import { callTo, node } from './connect.ts'

const require = createRequire(import.meta.url)
const everything = path.join(
  path.dirname(require.resolve('@modelcontextprotocol/server-everything/package.json')),
  'dist/index.js',
)
const filesystem = path.join(
  path.dirname(require.resolve('@modelcontextprotocol/server-filesystem/package.json')),
  'dist/index.js',
)

let root = ''
let files: McpTools
let served: ChildProcess
const connections = new Map<string, McpTools>()

beforeAll(async () => {
  root = await realpath(await mkdtemp(path.join(tmpdir(), 'provost-mcp-')))
  await writeFile(path.join(root, 'notes.txt'), 'grüße')
  const port = await freePort()
  served = spawn(process.execPath, [everything, 'streamableHttp'], { env: { ...process.env, PORT: String(port) } })
  const listening = new Promise<void>((done, failed) => {
    served.stderr?.on('data', (said: Buffer) => String(said).includes('listening') && done())
    served.once('exit', () => failed(new Error('The server ended.')))
  })
  const started = await Promise.all([
    mcpTools({
      name: 'files',
      transport: node(filesystem, root),
      configure: ({ name }) => (name === 'read_text_file' ? { effect: 'read' } : undefined),
    }),
    mcpTools({ name: 'everything', transport: node(everything) }),
    listening.then(() => mcpTools({ name: 'web', transport: { type: 'http', url: `http://127.0.0.1:${port}/mcp` } })),
  ])
  files = started[0]
  connections.set('stdio', started[1]).set('streamable HTTP', started[2])
})
afterAll(async () => {
  await Promise.all([files, ...connections.values()].map((connection) => connection.close()))
  served.removeAllListeners('exit').kill()
  await rm(root, { recursive: true, force: true })
})

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const address = server.address()
  await new Promise((done) => server.close(done))
  return typeof address === 'object' && address ? address.port : 0
}

describe.each(['stdio', 'streamable HTTP'])('server-everything over %s', (transport) => {
  const server = (): McpTools => {
    const found = connections.get(transport)
    if (!found) throw new Error(`No connection over ${transport}.`)
    return found
  }

  test('text, structured content, links and images arrive', async () => {
    const [echo, structured, links, image, reference] = await Promise.all([
      callTo(server(), 'echo', { message: 'hi' }),
      callTo(server(), 'get-structured-content', { location: 'New York' }),
      callTo(server(), 'get-resource-links', { count: 2 }),
      callTo(server(), 'get-tiny-image'),
      callTo(server(), 'get-resource-reference', { resourceType: 'Text', resourceId: 1 }),
    ])
    expect(seen(echo)).toBe('Echo: hi')
    expect(structured.value).toMatchObject({ temperature: expect.any(Number), conditions: expect.any(String) })
    expect(links.details).toMatchObject({ resourceLinks: [{ uri: expect.stringMatching(/^demo:/) }, {}] })
    expect(image.output).toMatchObject({ value: [{}, { type: 'file', mediaType: 'image/png' }, {}] })
    expect(seen(reference)).toContain('[resource demo://resource/dynamic/text/1]')
    for (const { label } of [echo, structured, links, image]) expect(label).toMatchObject({ integrity: 'untrusted' })
  })

  test('linked resources are read, text and bytes', async () => {
    expect(await server().reader('demo://resource/dynamic/text/1')).toMatch(/^Resource 1: This is a plaintext resource/)
    expect(await server().reader('demo://resource/dynamic/blob/1')).toBeInstanceOf(Uint8Array)
    expect(await server().reader('demo://resource/dynamic/text/1', { from: 0, to: 10 })).toBe('Resource 1')
    await expect(server().reader('demo://nowhere')).rejects.toMatchObject({ code: 'mcp-error' })
  })

  test('linked resources are read by the model, by bytes or lines', async () => {
    const tool = readResultTool({ demo: server().reader })
    const handle = 'demo://resource/dynamic/text/1'
    const [bytes, lines, nowhere] = await Promise.all([
      callTool(tool, { handle, bytes: { from: 0, to: 10 } }),
      callTool(tool, { handle, lines: { from: 1, to: 1 } }),
      callTool(tool, { handle: 'demo://nowhere' }),
    ])
    expect(bytes).toMatchObject({
      value: { text: 'Resource 1' },
      label: { integrity: 'untrusted', sources: ['resource:demo'] },
    })
    expect(lines.value).toMatchObject({ text: expect.stringContaining('plaintext'), totalLines: 1 })
    expect(nowhere).toMatchObject({ outcome: 'error', error: { code: 'reader-failed' } })
  })

  test('an abandoned call leaves the connection usable', async () => {
    const run = new AbortController()
    const call = callTo(server(), 'trigger-long-running-operation', { duration: 30, steps: 3 }, { signal: run.signal })
    setTimeout(() => run.abort(), 20)
    expect((await call).outcome).toBe('aborted')
    expect(seen(await callTo(server(), 'get-sum', { a: 2, b: 3 }))).toBe('The sum of 2 and 3 is 5.')
  })

  test('log messages and other notifications of the server are ignored', async () => {
    expect((await callTo(server(), 'toggle-simulated-logging')).outcome).toBe('ok')
    expect((await callTo(server(), 'toggle-simulated-logging')).outcome).toBe('ok')
    expect(seen(await callTo(server(), 'echo', { message: 'still' }))).toBe('Echo: still')
  })
})

test('all tools of the servers are egress, and all their schemas can be checked', () => {
  for (const server of [files, ...connections.values()]) expect(server.unchecked).toEqual({})
  for (const { tools } of connections.values()) {
    expect(tools.length).toBeGreaterThan(8)
    expect([...new Set(tools.map(({ effect, idempotent }) => `${effect} ${idempotent}`))]).toEqual(['egress false'])
  }
})

test('both transports return the same definitions', () => {
  const [stdio, web] = [...connections.values()].map(({ fingerprints }) => fingerprints)
  expect(web).toEqual(stdio)
})

describe('server-filesystem', () => {
  test('reads and writes files; all tools are egress but the one that the operator lowered', async () => {
    const lowered = files.tools.filter(({ effect }) => effect !== 'egress').map(({ name }) => name)
    expect(lowered).toEqual(['read_text_file'])
    // The server declares other tools as read-only, too.
    expect(files.tools.length).toBeGreaterThan(5)
    expect((await callTo(files, 'read_text_file', { path: path.join(root, 'notes.txt') })).value).toMatchObject({
      content: 'grüße',
    })
    await callTo(files, 'write_file', { path: path.join(root, 'new.txt'), content: 'new' })
    expect(await readFile(path.join(root, 'new.txt'), 'utf8')).toBe('new')
  })

  test('a refusal of the server is an error that the model can read', async () => {
    const { outcome, error } = await callTo(files, 'read_text_file', { path: '/etc/passwd' })
    expect(outcome).toBe('error')
    expect(error).toMatchObject({ code: 'mcp-tool-error', message: expect.stringMatching(/denied/) })
  })
})
