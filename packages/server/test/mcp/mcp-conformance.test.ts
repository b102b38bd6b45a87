import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { text } from 'node:stream/consumers'

import { createServer, serve } from '@provost/server'
import { memoryStore } from '@provost/sessions'
import { expect, onTestFinished, test } from 'vitest'

import { deskOf } from '../served.ts'

const require = createRequire(import.meta.url)
const manifest = require.resolve('@modelcontextprotocol/conformance/package.json')
const suite = path.join(path.dirname(manifest), 'dist/index.js')

/** Scenarios that call tools, resources and prompts of the suite's own, which no agent has. */
const ofTheSuite = [
  ...['simple-text', 'image', 'audio', 'embedded-resource', 'mixed-content', 'with-logging', 'error'].map(
    (name) => `tools-call-${name}`,
  ),
  ...['with-progress', 'sampling', 'elicitation'].map((name) => `tools-call-${name}`),
  ...['json-schema-2020-12', 'elicitation-sep1034-defaults', 'elicitation-sep1330-enums'],
  ...['list', 'read-text', 'read-binary', 'templates-read', 'subscribe', 'unsubscribe'].map(
    (name) => `resources-${name}`,
  ),
  ...['list', 'get-simple', 'get-with-args', 'get-embedded-resource', 'get-with-image'].map(
    (name) => `prompts-${name}`,
  ),
]
/** Capabilities that the server does not offer: log messages to the client, and completion of arguments. */
const notOffered = ['logging-set-level', 'completion-complete']

// By default the requests of the SDK's own client are enough.
test.runIf(process.env['PROVOST_TEST_FULL'] === '1')(
  'the server passes each scenario of the conformance suite that is about what it offers',
  async () => {
    const store = memoryStore()
    const listening = await serve(createServer({ agents: [deskOf([{ text: 'Hello.' }], store)], store }), { port: 0 })
    onTestFinished(() => listening.close({ graceMs: 0 }))
    const results = await mkdtemp(path.join(tmpdir(), 'provost-conformance-'))
    onTestFinished(() => rm(results, { recursive: true, force: true }))
    const { NODE_OPTIONS: _, ...env } = process.env
    const args = [suite, 'server', '--url', `${listening.url}/mcp`, '--suite', 'all', '--output-dir', results]
    const said = await text(spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'ignore'] }).stdout)
    const named = (sign: string) => [...said.matchAll(new RegExp(`^${sign} (\\S+):`, 'gmu'))].map(([, name]) => name)
    expect(new Set(named('✗'))).toEqual(new Set([...ofTheSuite, ...notOffered]))
    expect(named('✓')).toEqual(
      expect.arrayContaining(['server-initialize', 'ping', 'tools-list', 'dns-rebinding-protection']),
    )
  },
  120_000,
)
