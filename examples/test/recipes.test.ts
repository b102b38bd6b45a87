import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'

import { writeProvost } from '@provost/testing/test/packed-provost'
import { createClient } from 'provost/client'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'

import { otlpReceiver } from './otlp-receiver.ts'
import type { Arrival, ArrivedSpan } from './otlp-receiver.ts'
import { startProgram } from './running.ts'
import type { Running } from './running.ts'

const folder = join(import.meta.dirname, '../recipes')

/** Installs what a folder's own lock file lists. */
function install(cwd: string): void {
  const args = ['install', '--frozen-lockfile', '--prefer-offline']
  const { status, stderr } = spawnSync('pnpm', args, { cwd, encoding: 'utf8' })
  if (status !== 0) throw new Error(`The libraries of the recipes cannot be installed: ${stderr}`)
}

/** Installs the libraries of the recipes, once. */
function installRecipes(): void {
  if (!existsSync(join(folder, 'node_modules/.modules.yaml'))) install(folder)
}

/** Runs a session with an approval through a server, and asks for its own page. */
async function useServer({ url }: Running): Promise<void> {
  expect((await fetch(`${url}/api/agent/sessions`)).status).toBe(401)
  const session = createClient({ baseUrl: url, headers: { authorization: 'Bearer ann-token' } }).session()
  const asked: string[] = []
  const stream = session.execute('Order tea', {
    onApproval: ({ toolName }) => {
      asked.push(toolName)
      return 'approve'
    },
  })
  const deltas: string[] = []
  for await (const event of stream) if (event.type === 'text.delta') deltas.push(event.delta)
  expect(asked).toEqual(['order'])
  expect(deltas.join('')).toBe('It is ordered.')
  expect((await stream.result).status).toBe('completed')
  expect((await session.get()).messages.length).toBe(4)
  expect(await (await fetch(url)).text()).toContain('my application')
}

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

/** Runs a recipe to its end, and returns what the receiver got. */
async function received(recipe: string, env: (url: string) => Record<string, string>): Promise<Arrival> {
  const receiver = await otlpReceiver()
  closing.push(receiver.close)
  const { NODE_OPTIONS: _, ...own } = process.env
  const child = spawn(process.execPath, ['--conditions=@provost/source', recipe], {
    cwd: folder,
    env: { ...own, ...env(receiver.url) },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const closed = once(child, 'close')
  const err = await text(child.stderr)
  expect([(await closed)[0], err]).toEqual([0, ''])
  expect(receiver.arrivals.length).toBe(1)
  const [arrival] = receiver.arrivals
  if (!arrival) throw new Error('Nothing arrived.')
  return arrival
}

function named(spans: readonly ArrivedSpan[], name: string): ArrivedSpan {
  const span = spans.find((one) => one.name === name)
  if (!span) throw new Error(`${name} is not among ${spans.map((one) => one.name).join(', ')}.`)
  return span
}

// Libraries are installed for this alone, so only full runs do it.
const full = process.env['PROVOST_TEST_FULL'] === '1'

describe.runIf(full)('agents inside an application of', () => {
  beforeAll(installRecipes)

  test.each(['express', 'fastify', 'hono'])(
    '%s stream, ask, resume, and leave its own routes alone (needs a registry)',
    async (name) => {
      const command = [process.execPath, '--conditions=@provost/source', `${name}.mjs`]
      const server = await startProgram(command, folder, { PORT: '0' }, /(\d+)\n/)
      try {
        await useServer(server)
      } finally {
        expect(await server.stop()).toBe(0)
      }
    },
  )
})

describe.runIf(full)('agents inside an application of', () => {
  const project = mkdtempSync(join(tmpdir(), 'provost-next-'))
  afterAll(() => rmSync(project, { recursive: true, force: true }))

  test('Next stream, ask, resume, and leave its own pages alone (needs a registry)', async () => {
    cpSync(join(folder, 'next'), project, {
      recursive: true,
      filter: (path) => !/\/(?:node_modules|\.next)\b/.test(path),
    })
    copyFileSync(join(folder, 'agents.mjs'), join(project, 'agents.mjs'))
    install(project)
    await writeProvost(join(project, 'node_modules/provost'))
    const next = [process.execPath, 'node_modules/next/dist/bin/next', 'dev', '--hostname', '127.0.0.1', '--port', '0']
    const server = await startProgram(next, project, { NEXT_TELEMETRY_DISABLED: '1' }, /http:\/\/127\.0\.0\.1:(\d+)/)
    try {
      await useServer(server)
    } finally {
      await server.stop()
    }
    expect(server.stderr()).not.toContain('Error')
  })
})

describe.runIf(full)('a run is traced to (needs a registry)', () => {
  beforeAll(installRecipes)

  test('Langfuse, by the address, the credentials and the attributes that its ingestion reads', async () => {
    const { path, headers, spans } = await received('langfuse.mjs', (url) => ({
      LANGFUSE_BASE_URL: url,
      LANGFUSE_PUBLIC_KEY: 'pk-test',
      LANGFUSE_SECRET_KEY: 'sk-test',
    }))
    expect(path).toBe('/api/public/otel/v1/traces')
    expect(headers).toMatchObject({
      authorization: `Basic ${btoa('pk-test:sk-test')}`,
      'x-langfuse-ingestion-version': '4',
    })
    const run = named(spans, 'invoke_agent desk')
    expect(spans.length).toBe(4)
    expect(spans.filter(({ parent }) => parent === run.id).length).toBe(3)
    expect(run.attributes).toMatchObject({
      'session.id': expect.any(String),
      'user.id': 'ann',
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.input.messages': expect.stringContaining('Where is order 17?'),
      'gen_ai.output.messages': expect.stringContaining('It was sent on Monday.'),
    })
    expect(named(spans, 'chat scripted-model').attributes).toMatchObject({
      'gen_ai.request.model': 'scripted-model',
      'gen_ai.usage.input_tokens': 120,
      'gen_ai.usage.output_tokens': 15,
      'gen_ai.usage.cost': 0.00036,
    })
    expect(named(spans, 'execute_tool order_status').attributes).toMatchObject({
      'gen_ai.tool.name': 'order_status',
      'gen_ai.tool.call.arguments': '{"order":17}',
      'gen_ai.tool.call.result': 'order 17 was sent on Monday',
    })
    // It drops spans without any attribute of GenAI.
    for (const { attributes } of spans)
      expect(Object.keys(attributes).some((key) => key.startsWith('gen_ai.'))).toBe(true)
  })

  test('Phoenix, by the project, the kinds of spans and the values that it reads', async () => {
    const { path, headers, resource, spans } = await received('phoenix.mjs', (url) => ({
      PHOENIX_COLLECTOR_ENDPOINT: url,
      PHOENIX_API_KEY: 'key',
    }))
    expect(path).toBe('/v1/traces')
    expect(headers.authorization).toBe('Bearer key')
    expect(resource['openinference.project.name']).toBe('desk')
    expect(spans.length).toBe(4)
    expect(named(spans, 'invoke_agent desk').attributes).toMatchObject({
      'openinference.span.kind': 'AGENT',
      'session.id': expect.any(String),
      'user.id': 'ann',
    })
    expect(named(spans, 'chat scripted-model').attributes).toMatchObject({
      'openinference.span.kind': 'LLM',
      'llm.model_name': 'scripted-model',
      'llm.token_count.prompt': 120,
      'llm.token_count.completion': 15,
      'llm.cost.total': 0.00036,
    })
    expect(named(spans, 'execute_tool order_status').attributes).toMatchObject({
      'openinference.span.kind': 'TOOL',
      'tool.name': 'order_status',
      'input.value': '{"order":17}',
      'output.value': 'order 17 was sent on Monday',
    })
  })
})
