import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const helpText = `Opens many event streams at once, of a Provost server and of a bare Hono loop that writes as many frames: is anything
lost, how late do events come, what does it cost?

Usage: node --conditions=@provost/source bench/sse.ts [options]

Options:
  --streams 500     streams that are open at the same time (default 500)
  --chunks 50       pieces of text in each, one every 100 ms (default 50)
  --store memory    or sqlite: sessions, and what passes for readers in other processes, are kept in a file
  --json            one JSON object on stdout, nothing else
  --help            this text
`

const delayMs = 100
const chunkLength = 'some words of an answer '.length

interface Figures {
  readonly events: number
  readonly lost: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly cpuMs: number
  readonly idleRssMB: number
  readonly rssMB: number
  readonly frames: number
}

interface Seen {
  readonly delays: number[]
  text: number
  frames: number
  gaps: number
  complete: boolean
}

async function read(url: string, seen: Seen): Promise<void> {
  const response = await fetch(`${url}/api/agent/execute`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"input":"go"}',
  })
  const decoder = new TextDecoder()
  let rest = ''
  let last = 0
  for await (const bytes of response.body ?? []) {
    const now = Date.now()
    const blocks = `${rest}${decoder.decode(bytes, { stream: true })}`.split('\n\n')
    rest = blocks.pop() ?? ''
    for (const block of blocks) {
      const at = block.indexOf('data: ')
      if (at < 0) continue
      const event: { seq?: number; type: string; delta?: string; at?: number } = JSON.parse(
        block.slice(at + 6).split('\n', 1)[0] ?? '',
      )
      seen.frames++
      if (event.seq !== undefined) {
        if (event.seq !== last + 1) seen.gaps++
        last = event.seq
      }
      if (event.type === 'execute_complete') seen.complete = true
      if (event.type !== 'text.delta') continue
      seen.text += event.delta?.length ?? 0
      if (event.at !== undefined) seen.delays.push(now - event.at)
    }
  }
}

interface Plan {
  readonly streams: number
  readonly chunks: number
  readonly store: string
}

async function measure(side: string, { streams, chunks, store }: Plan): Promise<Figures> {
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
    const warm: Seen = { delays: [], text: 0, frames: 0, gaps: 0, complete: false }
    await Promise.all(Array.from({ length: 5 }, () => read(url, warm)))
    const before = await spentOf(url)
    const all = Array.from({ length: streams }, (): Seen => ({
      delays: [],
      text: 0,
      frames: 0,
      gaps: 0,
      complete: false,
    }))
    await Promise.all(all.map((seen) => read(url, seen)))
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
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  const { store, json, help } = values
  if (store !== 'memory' && store !== 'sqlite') throw new TypeError(`--store takes memory or sqlite, not '${store}'.`)
  return {
    streams: wholeNumber('streams', values.streams),
    chunks: wholeNumber('chunks', values.chunks),
    store,
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
  const { streams, chunks, store, json } = plan
  const hono = await measure('hono', plan)
  const provost = await measure('provost', plan)
  const ratio = (a: number, b: number): number => Math.round((a / b) * 100) / 100
  const result = {
    streams,
    chunks,
    delayMs,
    store,
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

await main()
