import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:http'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { createGunzip } from 'node:zlib'

import { createEventDecoder } from '@provost/core'

const helpText = `Opens many event streams at once, of a Provost server and of a bare Hono loop that writes as many frames: is anything
lost, how late do events come, what does it cost?

Usage: node --conditions=@provost/source bench/sse.ts [options]

Options:
  --streams 500     streams that are open at the same time (default 500)
  --chunks 50       pieces of text in each, one every 100 ms (default 50)
  --form small      or verbose: whole events; gzip: small and compressed
  --store memory    or sqlite: sessions, and what passes for readers in other processes, are kept in a file
  --json            one JSON object on stdout, nothing else
  --help            this text
`

const delayMs = 100
const chunkLength = 'some words of an answer '.length

export interface Figures {
  readonly events: number
  readonly lost: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly cpuMs: number
  readonly idleRssMB: number
  readonly rssMB: number
  readonly frames: number
  /** Bytes on the wire. */
  readonly bytes: number
}

interface Seen {
  readonly delays: number[]
  text: number
  frames: number
  gaps: number
  complete: boolean
  bytes: number
}

const nothing = (): Seen => ({ delays: [], text: 0, frames: 0, gaps: 0, complete: false, bytes: 0 })

/** Sends a request and returns the bytes of its response, decompressed; `count` receives the bytes on the wire. */
async function open(url: string, form: string, count: (bytes: number) => void): Promise<Readable> {
  const query = form === 'verbose' ? '?verbose=1' : ''
  const headers = { 'content-type': 'application/json', 'accept-encoding': form === 'gzip' ? 'gzip' : 'identity' }
  const asked = request(`${url}/api/agent/execute${query}`, { method: 'POST', headers }).end('{"input":"go"}')
  const [response]: IncomingMessage[] = await once(asked, 'response')
  if (!response) throw new Error(`No response from ${url}.`)
  response.on('data', (bytes: Buffer) => count(bytes.length))
  return response.headers['content-encoding'] === 'gzip' ? response.pipe(createGunzip()) : response
}

async function read(url: string, form: string, seen: Seen): Promise<void> {
  const events = createEventDecoder()
  const decoder = new TextDecoder()
  let rest = ''
  let last = 0
  const stream = await open(url, form, (bytes) => (seen.bytes += bytes))
  for await (const bytes of stream) {
    const now = Date.now()
    const blocks = `${rest}${decoder.decode(bytes, { stream: true })}`.split('\n\n')
    rest = blocks.pop() ?? ''
    for (const block of blocks) {
      const lines = block.split('\n')
      const field = (name: string): string | undefined =>
        lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2)
      const data = field('data')
      if (data === undefined) continue
      const given: { type?: string; seq?: number; delta?: string; at?: number } = JSON.parse(data)
      const name = field('event') ?? ''
      seen.frames++
      if (name === 'execute_complete') seen.complete = true
      // Small frames have no type; those of the bare loop and of the verbose form are whole.
      const whole = given.type === undefined && !seen.complete
      const event = whole ? events.decode({ event: name, id: field('id'), data: given }) : given
      if (event?.seq !== undefined) {
        if (event.seq !== last + 1) seen.gaps++
        last = event.seq
      }
      if (event?.type !== 'text.delta' || !('delta' in event)) continue
      seen.text += event.delta?.length ?? 0
      if (event.at !== undefined) seen.delays.push(now - event.at)
    }
  }
}

export interface Plan {
  readonly streams: number
  readonly chunks: number
  readonly store: string
  readonly form: string
}

export async function measureSide(side: string, { streams, chunks, store, form }: Plan): Promise<Figures> {
  const folder = mkdtempSync(join(tmpdir(), 'provost-sse-'))
  const script = fileURLToPath(new URL('sse/side.ts', import.meta.url))
  const child = spawn(
    process.execPath,
    [
      '--conditions=@provost/source',
      script,
      side,
      String(chunks),
      String(delayMs),
      store === 'sqlite' ? join(folder, 'sessions.db') : '',
    ],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  try {
    const [port] = await once(createInterface(child.stdout), 'line')
    const url = `http://127.0.0.1:${String(port)}`
    const warm = nothing()
    await Promise.all(Array.from({ length: 5 }, () => read(url, form, warm)))
    const before = await spentOf(url)
    const all = Array.from({ length: streams }, nothing)
    await Promise.all(all.map((seen) => read(url, form, seen)))
    const after = await spentOf(url)
    const delays = all.flatMap((seen) => seen.delays).toSorted((a, b) => a - b)
    const at = (share: number): number =>
      delays[Math.min(delays.length - 1, Math.floor(delays.length * share))] ?? Number.NaN
    const missing = all.map(
      ({ text, gaps, complete }) => (chunks * chunkLength - text) / chunkLength + gaps + (complete ? 0 : 1),
    )
    return {
      events: delays.length,
      lost: missing.reduce((sum, one) => sum + one, 0),
      p50Ms: at(0.5),
      p99Ms: at(0.99),
      cpuMs: Math.round(after.cpuMs - before.cpuMs),
      idleRssMB: before.rssMB,
      rssMB: after.rssMB,
      frames: all.reduce((sum, { frames }) => sum + frames, 0),
      bytes: all.reduce((sum, { bytes }) => sum + bytes, 0),
    }
  } finally {
    child.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  }
}

async function spentOf(url: string): Promise<{ cpuMs: number; rssMB: number }> {
  const spent: { cpuMs: number; rssMB: number } = await (await fetch(`${url}/spent`)).json()
  return spent
}

/** @throws TypeError that names the flag. */
function readArguments(): Plan & { readonly json: boolean; readonly help: boolean } {
  const { values } = parseArgs({
    options: {
      streams: { type: 'string', default: '500' },
      chunks: { type: 'string', default: '50' },
      store: { type: 'string', default: 'memory' },
      form: { type: 'string', default: 'small' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  const { store, form, json, help } = values
  if (store !== 'memory' && store !== 'sqlite') throw new TypeError(`--store takes memory or sqlite, not '${store}'.`)
  if (!['small', 'verbose', 'gzip'].includes(form))
    throw new TypeError(`--form takes small, verbose or gzip, not '${form}'.`)
  return {
    streams: wholeNumber('streams', values.streams),
    chunks: wholeNumber('chunks', values.chunks),
    store,
    form,
    json,
    help,
  }
}

function wholeNumber(flag: string, text: string): number {
  const number = Number(text)
  if (Number.isInteger(number) && number > 0) return number
  throw new TypeError(`--${flag} takes a whole number from 1 on, not '${text}'.`)
}

async function main(): Promise<void> {
  let plan: ReturnType<typeof readArguments>
  try {
    plan = readArguments()
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\nTry --help.\n`)
    process.exitCode = 2
    return
  }
  if (plan.help) {
    process.stdout.write(helpText)
    return
  }
  const { streams, chunks, store, form, json } = plan
  const hono = await measureSide('hono', plan)
  const provost = await measureSide('provost', plan)
  const ratio = (a: number, b: number): number => Math.round((a / b) * 100) / 100
  const result = {
    streams,
    chunks,
    delayMs,
    store,
    form,
    load: loadavg()[0],
    provost,
    hono,
    ratios: {
      cpu: ratio(provost.cpuMs, hono.cpuMs),
      cpuPerFrame: ratio(provost.cpuMs / provost.frames, hono.cpuMs / hono.frames),
      rss: ratio(provost.rssMB, hono.rssMB),
    },
  }
  if (json) console.log(JSON.stringify(result))
  else console.dir(result)
}

if (import.meta.main) await main()
