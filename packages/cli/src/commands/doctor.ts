import process from 'node:process'
import { Worker } from 'node:worker_threads'

import type { SessionStore } from '@provost/core'
import { displayText, threadFlags, toErrorInfo, uuidv7 } from '@provost/core'
import { unsupportedNode } from '@provost/core/supported-node'

import type { ExitCode, Invocation } from '../command/command.ts'
import { exitCodes } from '../command/command.ts'
import { packagesIn, versionOf } from '../project/installed-packages.ts'
import type { StorePlace } from '../project/open-store.ts'
import { openStore } from '../project/open-store.ts'

/** One thing that was looked at. `missing`: something optional is not there. */
interface Finding {
  readonly check: string
  readonly status: 'ok' | 'missing' | 'failed'
  readonly text: string
}

/** Variables with the API keys of providers. Their values are never read. */
const keyVariables: Readonly<Record<string, string>> = {
  'amazon-bedrock': 'AWS_ACCESS_KEY_ID',
  anthropic: 'ANTHROPIC_API_KEY',
  azure: 'AZURE_API_KEY',
  cerebras: 'CEREBRAS_API_KEY',
  cohere: 'COHERE_API_KEY',
  deepinfra: 'DEEPINFRA_API_KEY',
  deepseek: 'DEEPSEEK_API_KEY',
  fireworks: 'FIREWORKS_API_KEY',
  gateway: 'AI_GATEWAY_API_KEY',
  google: 'GOOGLE_GENERATIVE_AI_API_KEY',
  'google-vertex': 'GOOGLE_APPLICATION_CREDENTIALS',
  groq: 'GROQ_API_KEY',
  mistral: 'MISTRAL_API_KEY',
  openai: 'OPENAI_API_KEY',
  perplexity: 'PERPLEXITY_API_KEY',
  togetherai: 'TOGETHER_AI_API_KEY',
  xai: 'XAI_API_KEY',
}
/** Optional packages and what needs them. */
const peers: Readonly<Record<string, string>> = {
  '@modelcontextprotocol/server': 'provost mcp, MCP of the server',
  '@a2a-js/sdk': 'A2A',
  '@opentelemetry/api': 'telemetry',
  ai: 'useChat',
  'just-bash': 'justBashRuntime',
  kysely: 'postgresStore',
  pg: 'postgresStore',
}
/** Milliseconds by which the clocks of this machine and the database may differ. */
const mostSkewMs = 5_000

/** `provost doctor` */
export async function doctor(given: Invocation): Promise<ExitCode> {
  const { terminal } = given
  const findings: Finding[] = []
  for (const look of [() => [runtime()], sqlite, threads, () => storeFindings(given), packages, keys]) {
    for (const finding of await look()) {
      findings.push(finding)
      if (terminal.json) terminal.print(displayText(finding, { limit: Infinity }))
      else {
        const { check, status, text } = finding
        const paint = { ok: terminal.green, missing: terminal.yellow, failed: terminal.red }[status]
        terminal.print(`${paint(status.padEnd(7))}  ${check.padEnd(8)}  ${displayText(text, { limit: 2_000 })}`)
      }
    }
  }
  return findings.some(({ status }) => status === 'failed') ? exitCodes.failed : exitCodes.ok
}

function runtime(): Finding {
  const { bun, deno, node } = process.versions
  const name = bun ? `Bun ${bun}` : deno ? `Deno ${deno}` : `Node ${node}`
  // Values may be secrets, such as a path with a token.
  const flags = [...process.execArgv, ...(process.env['NODE_OPTIONS'] ?? '').split(' ')].flatMap((flag) => {
    const [flagName = ''] = flag.split('=')
    return flagName.startsWith('-') ? [flagName] : []
  })
  const unsupported = unsupportedNode()
  const text = `${name} on ${process.platform} ${process.arch}; flags: ${flags.join(' ') || 'none'}`
  return {
    check: 'runtime',
    status: unsupported ? 'failed' : 'ok',
    text: unsupported ? `${text}. ${unsupported.message}` : text,
  }
}

async function sqlite(): Promise<readonly Finding[]> {
  return attempt('sqlite', async () => {
    const { DatabaseSync } = await import('node:sqlite')
    const database = new DatabaseSync(':memory:')
    try {
      const row: unknown = Object.values(database.prepare('select sqlite_version()').get() ?? {})[0]
      database.exec('create virtual table words using fts5(text)')
      return `SQLite ${String(row)} with full-text search`
    } finally {
      database.close()
    }
  })
}

/** Whether a thread of interpreted code can be kept from files, as code mode needs it. */
async function threads(): Promise<readonly Finding[]> {
  return attempt('threads', async () => {
    const script = `require('node:worker_threads').parentPort.postMessage(process.permission?.has('fs.write') ?? true)`
    const worker = new Worker(script, { eval: true, execArgv: [...threadFlags('thread', [], 'doctor')] })
    try {
      const mayWrite = await new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject))
      if (mayWrite !== false) throw new Error('A thread with --permission may write files.')
      return 'A thread can be kept from files'
    } finally {
      await worker.terminate()
    }
  })
}

async function storeFindings(given: Invocation): Promise<readonly Finding[]> {
  let found: readonly Finding[] = []
  const opened = await attempt('store', async () => {
    const { store, name, place } = openStore(given, 'existing')
    try {
      await probe(store)
      found = [await clock(place)]
      return `${name} can be read and written`
    } finally {
      await store.close()
    }
  })
  const [first] = opened
  const isAbsent = first?.text.startsWith('no-store') && given.value('store') === undefined
  return isAbsent ? opened.map((one) => ({ ...one, status: 'missing' })) : [...opened, ...found]
}

/** Writes a lease of a session that does not exist, and removes it. */
async function probe(store: SessionStore): Promise<void> {
  const log = `provost-doctor-${uuidv7()}`
  for await (const _ of store.list({ limit: 1 }));
  const lease = await store.lease(log, log, 1_000)
  if (lease !== 'busy') await store.release(log, lease.fence)
  await store.delete(log)
}

async function clock(place: StorePlace): Promise<Finding> {
  if (place.kind !== 'postgres')
    return { check: 'clock', status: 'ok', text: 'The store uses the clock of this machine' }
  const { connectPostgres } = await import('@provost/sessions/postgres')
  const { storeClosed } = await import('@provost/sessions/kit')
  const { query, close } = connectPostgres({
    ...{ url: place.url, connections: 1, caller: 'provost doctor', packages: ['pg'], content: 'the clock' },
    prepare: async () => undefined,
    closed: storeClosed,
  })
  try {
    const before = Date.now()
    const [row] = await query('doctor-clock', 'select extract(epoch from clock_timestamp()) * 1000', [])
    const skew = Math.round(Number(row?.[0]) - (before + Date.now()) / 2)
    const isClose = Math.abs(skew) <= mostSkewMs
    return {
      check: 'clock',
      status: isClose ? 'ok' : 'failed',
      text: `The clock of the database differs by ${skew} ms`,
    }
  } finally {
    await close()
  }
}

async function packages(): Promise<readonly Finding[]> {
  const folder = process.cwd()
  return Object.entries(peers).map(([name, use]) => {
    const version = versionOf(name, folder)
    const status = version === undefined ? 'missing' : 'ok'
    return { check: 'package', status, text: `${name} ${version ?? `for ${use}`}` }
  })
}

async function keys(): Promise<readonly Finding[]> {
  const found = new Set(packagesIn('@ai-sdk', process.cwd()))
  return Object.entries(keyVariables).flatMap(([provider, variable]): readonly Finding[] => {
    const isSet = Boolean(process.env[variable])
    if (!found.has(provider) && !isSet) return []
    const text = `${found.has(provider) ? `@ai-sdk/${provider}` : `${provider} without its package`}: ${variable} ${isSet ? 'is set' : 'is not set'}`
    return [{ check: 'provider', status: isSet ? 'ok' : 'missing', text }]
  })
}

async function attempt(check: string, look: () => Promise<string>): Promise<readonly Finding[]> {
  try {
    return [{ check, status: 'ok', text: await look() }]
  } catch (thrown) {
    const { code, message, hint = '' } = toErrorInfo(thrown)
    return [{ check, status: 'failed', text: `${code}: ${message} ${hint}`.trim() }]
  }
}
