import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { execFile, spawn } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'

import { startPostgres } from '@provost/testing'

import type { Outcome, Tarballs, Try } from './packed.ts'
import { packedSettings } from './packed.ts'

const run = promisify(execFile)

/** What the commands need beside `provost`: the stores, and the servers that they start. */
const dependencies = {
  '@modelcontextprotocol/server': '^2.4.0',
  '@opentelemetry/api': '^1.10.0',
  kysely: '^0.29.9',
  pg: '^8.23.1',
  zod: '^4.6.7',
}

/** Commands in the order of a user: their arguments, their exit code, and what they print. Others serve, or die. */
const steps: readonly (readonly [args: string, code: number, prints: RegExp])[] = [
  ['run desk.ts hello --session first --trace', 0, /Hello\.[^]*invoke_agent desk/u],
  ['doctor', 0, /^ok +store .*can be read and written$/mu],
  ['run desk.ts refund --session s1', 3, /provost approve s1 /u],
  ['runs --status suspended --json', 0, /^\{"id":"s1",/mu],
  ['show s1', 0, /status suspended/u],
  ['approve s1 --by ann', 0, /Approved: refund \(write\)/u],
  ['approve s1', 1, /already-decided/u],
  ['resume s1 desk.ts', 0, /It is settled\./u],
  ['run desk.ts refund --session s2', 3, /provost deny s2 /u],
  ['deny s2 --reason Never --agent desk.ts', 0, /It is settled\./u],
  ['show s2 --full', 0, /Never/u],
  ['replay s1 desk.ts', 0, /^Same: \d+ entries\./mu],
  ['fork s1', 0, /^\S+$/mu],
  ['export s1 --output FOLDER/s1.jsonl', 0, /^/u],
  ['verify FOLDER/s1.jsonl', 0, /^Valid: /mu],
  ['verify s1', 0, /^Valid: /mu],
  ['import FOLDER/s1.jsonl --id copy', 0, /copy/u],
  ['resume copy desk.ts', 1, /^[\w-]+: /mu],
  ['policy test FOLDER/s1.jsonl --policy policy.ts', 0, /1 call/u],
  ['policy report FOLDER/s1.jsonl', 0, /1 /u],
  ['eval desk.eval.ts', 0, /a greeting/u],
  ['show absent', 1, /^unknown-session: /mu],
  ['runs --limit many', 2, /^invalid-usage: /mu],
]

/** `provost` in an application, with a store. */
interface Provost {
  (args: readonly string[]): Promise<Ended>
  /** Starts a command that serves until it is stopped. */
  start(args: readonly string[]): ChildProcessWithoutNullStreams
  /** Whether several processes may have the store open. */
  readonly isShared: boolean
}

interface Ended {
  readonly code: number | null
  readonly out: string
}

/** As `npx provost` where this Node runs it: npx is of that one. On others, what npx would start. */
function provostIn(app: string, node: string, store: string, by: 'variable' | 'option'): Provost {
  const bin = join(app, 'node_modules/.bin/provost')
  const [program, ...before] = node === process.execPath ? ['npx', 'provost'] : [node, realpathSync(bin)]
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith('PROVOST_'))
  const env = {
    ...Object.fromEntries(own),
    PATH: `${dirname(node)}${delimiter}${process.env['PATH'] ?? ''}`,
    ...(by === 'variable' && { PROVOST_STORE: store }),
  }
  const start = (args: readonly string[]): ChildProcessWithoutNullStreams => {
    const [command = '', ...rest] = args
    const takesStore = by === 'option' && !['policy', 'eval'].includes(command)
    const all = [...before, command, ...rest, ...(takesStore ? ['--store', store] : [])]
    return spawn(program ?? '', all, { cwd: app, env, detached: true })
  }
  return Object.assign(async (args: readonly string[]) => ended(start(args)), {
    start,
    isShared: !store.startsWith('jsonl:'),
  })
}

async function ended(child: ChildProcessWithoutNullStreams): Promise<Ended> {
  let out = ''
  child.stdin.end()
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (out += text))
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
  return { code, out }
}

function check(args: readonly string[], { code, out }: Ended, wanted: number, prints: RegExp): string {
  if (code === wanted && prints.test(out)) return out
  throw new Error(`provost ${args.join(' ')} ended with ${code}, not ${wanted}, or did not print ${prints}: ${out}`)
}

/** @param place a folder that does not exist yet. */
async function everyCommand(provost: Provost, place: string): Promise<void> {
  mkdirSync(place)
  for (const [line, code, prints] of steps) {
    const args = line.replace('FOLDER', place).split(' ')
    check(args, await provost(args), code, prints)
  }
  await settles(provost, join(place, 'letter'))
  await servesHttp(provost)
  await servesMcp(provost)
  const listed = check(['runs'], await provost(['runs']), 0, /^SESSION/u)
  for (const id of ['first', 's1', 's2', 'copy', 'died'])
    if (!listed.includes(`\n${id} `)) throw new Error(`runs does not list ${id}: ${listed}`)
}

/** A process that dies in a call leaves it to be settled. */
async function settles(provost: Provost, letter: string): Promise<void> {
  await provost(['run', 'desk.ts', `send letter ${letter}.`, '--session', 'died'])
  if (!existsSync(letter)) throw new Error('The call was not made.')
  const resume = ['resume', 'died', 'desk.ts']
  const waits = check(resume, await provost(resume), 3, /provost settle died /u)
  const [, call = ''] = /provost settle died (\S+) /u.exec(waits) ?? []
  const settle = ['settle', 'died', call, 'done', '--agent', 'desk.ts']
  check(settle, await provost(settle), 0, /It is settled\./u)
}

async function servesHttp(provost: Provost): Promise<void> {
  const child = provost.start(['dev', 'desk.ts', '--port', '0', '--json'])
  const end = ended(child)
  try {
    const line = await first(child, /^\{"url".*$/mu)
    const { url } = JSON.parse(line) as { readonly url: string }
    const body = JSON.stringify({ input: 'refund' })
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(`${url}/api/agent/execute`, { method: 'POST', headers, body })
    const text = await answer.text()
    if (!text.includes('"status":"suspended"')) throw new Error(`dev answered ${answer.status} ${text}`)
    // Of a store in a folder, one process at a time decides and runs.
    if (!provost.isShared) return
    const [, session = ''] = /"sessionId":"([^"]+)"/u.exec(text) ?? []
    const approve = ['approve', session]
    check(approve, await provost(approve), 0, /Approved/u)
    const events = await (await fetch(`${url}/api/agent/session/${session}/events`)).text()
    if (!events.includes('It is settled.')) throw new Error(`dev did not continue the approved run: ${events}`)
  } finally {
    stop(child, 'SIGTERM')
    await end
  }
}

async function servesMcp(provost: Provost): Promise<void> {
  const child = provost.start(['mcp', 'desk.ts'])
  const closed = new Promise<number | null>((resolve) => child.once('close', resolve))
  const ask = async (id: number, method: string, params: object, prints: RegExp): Promise<void> => {
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`)
    await first(child, prints)
  }
  const clientInfo = { name: 'matrix', version: '1' }
  await ask(1, 'initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }, /^\{.*"id":1.*$/mu)
  await ask(2, 'tools/call', { name: 'desk', arguments: { input: 'hello' } }, /^\{.*Hello\..*$/mu)
  child.stdin.end()
  const code = await closed
  if (code !== 0) throw new Error(`mcp ended with ${code}`)
}

/** Returns the first text on stdout that a pattern finds. */
function first(child: ChildProcessWithoutNullStreams, pattern: RegExp): Promise<string> {
  let out = ''
  return new Promise((resolve, reject) => {
    child.stdout.setEncoding('utf8').on('data', (text) => {
      out += text
      const [found] = pattern.exec(out) ?? []
      if (found !== undefined) resolve(found)
    })
    child.once('close', (code) => reject(new Error(`It ended with ${code} before it printed ${pattern}: ${out}`)))
  })
}

/** Its whole group: npx does not pass every signal on. */
function stop({ pid, exitCode, signalCode }: ChildProcessWithoutNullStreams, signal: NodeJS.Signals): void {
  if (pid !== undefined && exitCode === null && signalCode === null) process.kill(-pid, signal)
}

/** Installs the command line in an empty folder. Returns what tries every command with each kind of store, on Node. */
export async function commandTries(folder: string, tarballs: Tarballs): Promise<readonly Try[]> {
  const app = join(folder, 'commands')
  cpSync(join(import.meta.dirname, 'commands'), app, { recursive: true })
  const manifest = { private: true, type: 'module', dependencies: { ...dependencies, provost: tarballs['provost'] } }
  writeFileSync(join(app, 'package.json'), JSON.stringify(manifest))
  writeFileSync(join(app, 'pnpm-workspace.yaml'), packedSettings(tarballs))
  await run('pnpm', ['install', '--prefer-offline'], { cwd: app })
  let count = 0
  return [
    async ({ name, program }) => {
      if (!name.startsWith('Node')) return []
      const database = await startPostgres()
      const place = (): string => join(app, `place-${++count}`)
      const stores = [
        ['SQLite', join(app, `sessions-${++count}.db`), 'variable'],
        ['JSON lines', `jsonl:${place()}`, 'option'],
        ['PostgreSQL', database.url, 'variable'],
      ] as const
      const outcomes = await Promise.all(
        stores.map(async ([kind, store, by]): Promise<Outcome> => {
          const provost = provostIn(app, program, store, by)
          const seen = await everyCommand(provost, place()).then(
            () => undefined,
            (error: unknown) => String(error).slice(0, 2_000),
          )
          return {
            check: `provost, every command: ${kind}`,
            ok: seen === undefined,
            ...(seen !== undefined && { seen }),
          }
        }),
      )
      await database.stop()
      return outcomes
    },
  ]
}
