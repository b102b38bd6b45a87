import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

import { findPostgres, startPostgres } from '@provost/testing'
import { writeProvost } from '@provost/testing/test/packed-provost'
import { createClient } from 'provost/client'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'

import { buildImage, checkHealth } from './container.ts'
import { startProgram } from './running.ts'
import type { Running } from './running.ts'

const source = join(import.meta.dirname, '../recipes/service')
const temporary = mkdtempSync(join(tmpdir(), 'provost-service-'))
const packed = join(temporary, 'package')
const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})
afterAll(() => rmSync(temporary, { recursive: true, force: true }))

/** Copies the service into an empty folder. */
function copyService(name: string): string {
  const folder = join(temporary, name)
  cpSync(source, folder, { recursive: true })
  return folder
}

/** A shop that answers an order when the test says so. */
async function openShop() {
  const keys: unknown[] = []
  let answers: ServerResponse[] = []
  const server = createServer((request, response) => {
    keys.push(request.headers['idempotency-key'])
    answers.push(response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closing.push(() => server.close())
  const address = server.address()
  return {
    url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`,
    keys,
    answer() {
      for (const response of answers) response.end('ordered')
      answers = []
    },
  }
}

const sessionOf = ({ url }: Running, id?: string) =>
  createClient({ baseUrl: url, headers: { authorization: 'Bearer secret' } }).session(id === undefined ? {} : { id })

async function start(command: readonly string[], cwd: string, env: Readonly<Record<string, string>>): Promise<Running> {
  const [, ...args] = command
  const running = await startProgram([process.execPath, ...args], cwd, env, /listening on http:\/\/[^:]+:(\d+)\n/)
  closing.push(() => running.stop('SIGKILL'))
  return running
}

/** Stops a service while the shop works on an order: it drains, and another process continues the session. */
async function drains(begin: (shopUrl: string) => Promise<Running>): Promise<void> {
  const shop = await openShop()
  const first = await begin(shop.url)
  expect((await fetch(`${first.url}/ready`)).status).toBe(200)
  expect((await fetch(`${first.url}/api/agent/sessions`)).status).toBe(401)
  const session = sessionOf(first)
  const stream = session.execute('Order tea')
  stream.result.catch(() => {})
  await expect.poll(() => shop.keys.length).toBe(1)
  const stopped = first.stop('SIGTERM')
  const readiness = async (): Promise<unknown> =>
    fetch(`${first.url}/ready`).then(
      ({ status }) => status,
      () => 'closed',
    )
  await expect.poll(readiness).not.toBe(200)
  shop.answer()
  expect([await stopped, first.stderr()]).toEqual([0, expect.not.stringContaining('Error')])

  const second = await begin(shop.url)
  // The server limits how often a client asks.
  const lastMessage = async () => JSON.stringify((await sessionOf(second, session.id).get()).messages.at(-1))
  await expect.poll(lastMessage, { interval: 500 }).toContain('It is ordered.')
  expect(shop.keys.length).toBe(1)
  expect(await second.stop('SIGTERM')).toBe(0)
}

// Packages are packed and servers started for this alone, so only full runs do it.
describe.runIf(process.env['PROVOST_TEST_FULL'] === '1')('the service of the recipes', () => {
  beforeAll(() => writeProvost(packed))

  test('in a container: the steps of its Dockerfile, the health check, and a stop that drains', async () => {
    const context = copyService('context')
    const tarball = join(temporary, 'provost.tgz')
    execFileSync('tar', ['-czf', tarball, '-C', temporary, 'package'])
    const manifest = JSON.parse(readFileSync(join(context, 'package.json'), 'utf8'))
    manifest.dependencies = { provost: `file:${tarball}` }
    writeFileSync(join(context, 'package.json'), JSON.stringify(manifest))
    const npm = ['install', '--package-lock-only', '--offline', '--no-audit', '--no-fund', '--loglevel=error']
    execFileSync('npm', npm, { cwd: context })
    for (const file of ['.env', 'sessions.db', 'sessions.db-wal']) writeFileSync(join(context, file), 'private')
    mkdirSync(join(context, 'node_modules'))
    writeFileSync(join(context, 'node_modules/own.js'), '')

    const stages = join(temporary, 'stages')
    mkdirSync(stages)
    const image = buildImage(context, stages)
    const app = join(image.root, image.workdir)
    expect(image.user).toBe('node')
    expect(readdirSync(app)).toEqual(expect.arrayContaining(['node_modules', 'server.ts', 'store.ts']))
    for (const file of ['.env', 'sessions.db', 'sessions.db-wal', 'node_modules/own.js'])
      expect(spawnSync('ls', [join(app, file)]).status).not.toBe(0)
    expect(readdirSync(join(app, 'node_modules')).filter((name) => !name.startsWith('.'))).toEqual(['provost'])

    const store = join(image.root, image.env['STORE'] ?? '')
    const healths: (number | null)[] = []
    await drains(async (shopUrl) => {
      const env = { ...image.env, STORE: store, PORT: '0', AGENT_TOKEN: 'secret', SHOP_URL: shopUrl }
      const running = await start(image.command, app, env)
      healths.push(checkHealth(image, new URL(running.url).port))
      return running
    })
    expect(healths).toEqual([0, 0])
    // Nothing listens there.
    expect(checkHealth(image, '9')).toBe(1)
  })

  test('under systemd: a unit that it accepts and calls well protected', (ctx) => {
    if (spawnSync('systemd-analyze', ['--version']).error) ctx.skip('systemd-analyze is not installed')
    const unit = join(temporary, 'agents.service')
    const text = readFileSync(join(source, 'agents.service'), 'utf8')
    // It looks for the program.
    writeFileSync(unit, text.replace('/usr/bin/node', process.execPath))
    const verified = spawnSync('systemd-analyze', ['verify', unit], { encoding: 'utf8' })
    expect([verified.status, verified.stderr]).toEqual([0, ''])
    // Tenths of its scale from 0, safe, to 10.
    const judged = spawnSync('systemd-analyze', ['security', '--offline=true', '--threshold=20', unit], {
      encoding: 'utf8',
    })
    expect([judged.status, judged.stdout]).toEqual([0, expect.stringContaining('Overall exposure level')])
  })

  test('under systemd: its command writes into its state folder only, and ends before systemd kills it', async () => {
    const folder = copyService('srv')
    mkdirSync(join(folder, 'node_modules'))
    cpSync(packed, join(folder, 'node_modules/provost'), { recursive: true })
    const state = join(temporary, 'state')
    mkdirSync(state)
    const unit = readFileSync(join(source, 'agents.service'), 'utf8')
    const setting = (name: string): string => new RegExp(`^${name}=(.*)$`, 'mu').exec(unit)?.[1] ?? ''
    expect(setting('ProtectSystem')).toBe('strict')
    const inFolder = (): string[] => readdirSync(folder).toSorted()
    const before = inFolder()
    const given = setting('Environment').replace('/var/lib/agents', state)
    const environment = Object.fromEntries(given.split(' ').map((pair) => pair.split('=')))
    await drains((shopUrl) =>
      start(setting('ExecStart').split(' '), folder, {
        ...environment,
        PORT: '0',
        AGENT_TOKEN: 'secret',
        SHOP_URL: shopUrl,
      }),
    )
    expect(inFolder()).toEqual(before)
    expect(readdirSync(state)).toEqual(expect.arrayContaining(['sessions.db']))
    const [, graceMs = ''] = /graceMs: ([\d_]+)/u.exec(readFileSync(join(source, 'server.ts'), 'utf8')) ?? []
    expect(Number(setting('TimeoutStopSec')) * 1_000).toBeGreaterThan(Number(graceMs.replace('_', '')))
  })

  test('on PostgreSQL: a role and a database of its own, which the next process continues with', async (ctx) => {
    const bin = findPostgres()
    if (bin === undefined) return ctx.skip('PostgreSQL is not installed')
    const psqlProgram = join(dirname(realpathSync(join(bin, 'initdb'))), 'psql')
    const administrator = await startPostgres()
    closing.push(() => administrator.stop())
    const psql = (url: string, ...args: readonly string[]) =>
      spawnSync(psqlProgram, ['--no-psqlrc', '--tuples-only', '--no-align', ...args, url], { encoding: 'utf8' })
    const file = join(source, 'database.sql')
    const made = psql(administrator.url, '--set=ON_ERROR_STOP=1', "--set=password=it's secret", `--file=${file}`)
    expect([made.status, made.stderr]).toEqual([0, ''])

    const url = administrator.url.replace(/provost@\/\w+/u, 'agents@/agents')
    await drains((shopUrl) =>
      start(['node', '--conditions=@provost/source', 'server.ts'], source, {
        DATABASE_URL: url,
        PORT: '0',
        AGENT_TOKEN: 'secret',
        SHOP_URL: shopUrl,
      }),
    )
    const owners = psql(
      url,
      "--command=SELECT DISTINCT tableowner FROM pg_tables WHERE schemaname !~ '^(pg_|information)'",
    )
    expect(owners.stdout).toBe('agents\n')
    expect(psql(administrator.url, '--command=CREATE ROLE stranger LOGIN').status).toBe(0)
    const stranger = psql(url.replace('agents@', 'stranger@'), '--command=SELECT 1')
    expect([stranger.status, stranger.stderr]).toEqual([2, expect.stringContaining('permission denied')])
  })
})
