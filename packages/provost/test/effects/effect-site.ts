import { request } from 'node:http'
import { text as readText } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'

import { createAgent, RunState } from '@provost/agent'
import type { Agent } from '@provost/agent'
import { codeMode } from '@provost/code-mode'
import type { Decisions, Entry, NewEntry, PendingWork, RunResult, SessionStore, Tool } from '@provost/core'
import { SessionBusyError } from '@provost/core'
import { postgresStore, sqliteStore } from '@provost/sessions'
import type { CrashInjector, ScriptedPrompt, ScriptedStep } from '@provost/testing'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { z } from 'zod'

/** Who requests the payment. */
export const ways = ['agent', 'child', 'fan-out', 'script', 'composite'] as const

/** One cell of the matrix: who pays how, and the bank that is paid. */
export interface EffectCase {
  readonly way: (typeof ways)[number]
  /** The tool has an `effectKey`. */
  readonly keyed: boolean
  readonly lookup: boolean
  /** The model requests the payment again. Without a key: until it succeeds. */
  readonly repeats: boolean
  /** Of the payment, in milliseconds. */
  readonly timeoutMs: number
  readonly bank: string
}

/** What the processes of a matrix share. */
export interface EffectSite {
  readonly kind: 'sqlite' | 'postgres'
  /** A file, or the URL of a database. */
  readonly place: string
}

export function openStore({ kind, place }: EffectSite): SessionStore {
  return kind === 'sqlite' ? sqliteStore(place) : postgresStore(place)
}

/** Wraps a store with a moment before and after each write, named after what is written. */
export function withMoments(crash: CrashInjector, store: SessionStore): SessionStore {
  async function around<T>(name: string, write: () => Promise<T>): Promise<T> {
    await crash.moment(`before ${name}`)
    const result = await write()
    await crash.moment(`after ${name}`)
    return result
  }
  return {
    ...crash.store(store),
    append: (log, entries, at) => around(entries.map(nameOf).join('+'), () => store.append(log, entries, at)),
    deliver: (to, token, ...given) =>
      around(/^([a-z]+)\/\d+$/.exec(token)?.[1] ?? 'delivery', () => store.deliver(to, token, ...given)),
  }
}

function nameOf(entry: NewEntry): string {
  return 'op' in entry ? `${entry.type}/${entry.op}` : entry.type
}

const input = z.object({ invoice: z.string(), amount: z.number() })
type Payment = z.output<typeof input>
const payment: Payment = { invoice: '17', amount: 80 }

function idIn(text: string): string {
  const { id }: { id: number } = JSON.parse(text)
  return `receipt ${id}`
}

interface Sent {
  /** Resolves when the operating system has the request: it arrives, whatever happens to this process. */
  readonly written: Promise<void>
  readonly reply: Promise<Reply>
}

interface Reply {
  readonly status: number | undefined
  readonly received: string
}

function send(url: string, key: string, body: string, signal: AbortSignal): Sent {
  const sent = request(url, { method: 'POST', headers: { 'idempotency-key': key }, signal, agent: false })
  const reply = new Promise<Reply>((resolve, reject) => {
    sent.on('error', reject).on('response', (response) => {
      readText(response).then((received) => resolve({ status: response.statusCode, received }), reject)
    })
  })
  // It fails with the request, whose error the caller may have received already.
  reply.catch(() => {})
  const written = new Promise<void>((resolve, reject) => {
    sent.on('error', reject).end(body, resolve)
  })
  return { written, reply }
}

function payTool(
  { bank, keyed, lookup, timeoutMs }: EffectCase,
  crash: CrashInjector | undefined,
): Tool<Payment, string> {
  return tool({
    name: 'pay',
    input,
    timeoutMs,
    async execute(given, { idempotencyKey, signal }) {
      await crash?.moment('before-send')
      const { written, reply } = send(`${bank}/effects`, idempotencyKey, JSON.stringify(given), signal)
      await written
      await crash?.moment('in-flight')
      const { status, received } = await reply
      // The bank refuses without an effect, or fails with an unknown one.
      if (status !== 201) throw Object.assign(new Error(`status ${status}`), { status })
      await crash?.moment('after-reply')
      return idIn(received)
    },
    ...(lookup && {
      async lookup(key: string) {
        const response = await fetch(`${bank}/effects/${key}`)
        return response.status === 404 ? undefined : { output: idIn(await response.text()) }
      },
    }),
    ...(keyed && { effectKey: ({ invoice }: Payment) => invoice }),
  })
}

/** Whether a result tells the model that the payment took place. */
export function tellsSuccess(text: string): boolean {
  return /receipt \d|Done before/.test(text)
}

/** Requests `name` as often as the case says, and ends with the last result as its text. */
function modelOf({ keyed, repeats }: EffectCase, name: string, args: unknown) {
  return scriptedModel(
    [
      ({ messages }: ScriptedPrompt): ScriptedStep => {
        const start = messages.findLastIndex(({ role }) => role === 'user')
        const results = messages.slice(start + 1).filter(({ role }) => role === 'tool')
        const last = JSON.stringify(results.at(-1) ?? '')
        const more = results.length < 5 && ((keyed && results.length < 2) || !tellsSuccess(last))
        return results.length === 0 || (repeats && more) ? { toolCalls: [{ name, input: args }] } : { text: last }
      },
    ],
    { after: 'repeat-last' },
  )
}

/** The same as the composite, as a script. */
function scriptOf({ keyed, repeats }: EffectCase): string {
  return `const told = []
for (let n = 0; n < 4; n++) {
  let isPaid = true
  try { told.push(await tools.pay(${JSON.stringify(payment)})) } catch (error) { isPaid = false; told.push(String(error)) }
  if (${!repeats} || (isPaid && (${!keyed} || n > 0))) break
}
return told.join()`
}

/** A process that resumes a run waits for the lease of the dead one. A busy machine renews leases in time. */
const leaseMs = 2_000

/** An agent of a process that has nothing but the case and the store. */
function agentFor(one: EffectCase, store: SessionStore, crash?: CrashInjector): Agent {
  const pay = payTool(one, crash)
  const settings = { store, leaseMs }
  const model = modelOf(one, 'pay', payment)
  if (one.way === 'agent') return createAgent({ name: 'desk', model, tools: [pay], ...settings })
  const payer = createAgent({ name: 'payer', model, tools: [pay] })
  if (one.way === 'child') {
    const delegate = modelOf(one, 'payer', {})
    return createAgent({
      name: 'desk',
      model: delegate,
      tools: [
        payer.toTool({ name: 'payer', description: 'Pays.', input: z.object({}), prompt: () => 'Pay invoice 17.' }),
      ],
      ...settings,
    })
  }
  if (one.way === 'script') {
    const delegate = modelOf({ ...one, repeats: false }, 'code_execute', { source: scriptOf(one) })
    return createAgent({
      name: 'desk',
      model: delegate,
      tools: [pay],
      extensions: [codeMode({ workers: 1 })],
      ...settings,
    })
  }
  const composite = tool({
    name: 'settle',
    input: z.object({}),
    composite: true,
    timeoutMs: 30_000,
    async execute(_, ctx) {
      if (one.way === 'fan-out') {
        const children = ['a', 'b', 'c'].map((key) => ({ key, agent: payer, input: 'Pay invoice 17.' }))
        const merged = await ctx.fanOut({ children, mergeStrategy: 'concat' })
        return JSON.stringify(merged)
      }
      const told: string[] = []
      for (let n = 0; n < 4; n++) {
        const { outcome, output } = await ctx.call('pay', payment, { key: `${n}` })
        told.push(JSON.stringify(output))
        if (!one.repeats || (outcome === 'ok' && (!one.keyed || n > 0))) break
      }
      return told.join()
    },
  })
  const delegate = modelOf({ ...one, repeats: false }, 'settle', {})
  return createAgent({ name: 'desk', model: delegate, tools: [composite, pay], ...settings })
}

/** The end of a case in one process. */
export interface EffectEnding {
  readonly status: RunResult['status']
  readonly error?: string
  /** The number of uncertain calls that a human decided about. */
  readonly asked: number
}

/** A human who looks at what really happened: returns whether the payment took place. */
export type Human = () => Promise<boolean> | boolean

/** Resumes a case from its log, or starts it, until its run ends. Waits until the lease of a dead process expires. */
export async function settleCase(
  one: EffectCase,
  sessionId: string,
  store: SessionStore,
  human: Human,
  { crash, signal }: { readonly crash?: CrashInjector; readonly signal?: AbortSignal } = {},
): Promise<EffectEnding> {
  const agent = agentFor(one, crash ? withMoments(crash, store) : store, crash)
  let decisions: Decisions = {}
  let asked = 0
  const options = signal ? { signal } : {}
  for (;;) {
    const state = stateFrom(await readLog(store, sessionId), sessionId, agent)
    const result = state
      ? await agent.run(state, { ...decisions, ...options })
      : await agent.run('Pay invoice 17.', { sessionId, ...options })
    if (result.status === 'suspended' && !signal?.aborted) {
      asked += result.pending.uncertain.length
      decisions = await decide(result.pending, human)
    } else if (result.error instanceof SessionBusyError) await sleep(leaseMs / 8)
    else return { status: result.status, asked, ...(result.error && { error: result.error.message }) }
  }
}

async function decide({ uncertain }: PendingWork, human: Human): Promise<Decisions> {
  const took = await human()
  return {
    uncertain: uncertain.map(({ callId }) =>
      took ? { callId, decision: 'done', output: 'receipt 1' } : { callId, decision: 'retry' },
    ),
  }
}

async function readLog(store: SessionStore, log: string): Promise<readonly Entry[]> {
  const entries: Entry[] = []
  for await (const entry of store.read(log)) entries.push(entry)
  return entries
}

/** The state of the last run of a log, made from nothing else. */
function stateFrom(entries: readonly Entry[], sessionId: string, agent: Agent): RunState<string> | undefined {
  const started = entries.findLast((entry) => entry.type === 'run' && entry.op === 'started')
  if (started?.type !== 'run' || started.op !== 'started') return undefined
  const { manifest, runId } = started
  const cursor = { sessionId, runId, offset: entries.length }
  return RunState.fromJSON({ v: 1, manifest, agent: agent.name, cursor }, agent)
}

/** Continues a session whose run was aborted: with a key by a new request, without one by resuming the run. */
export async function continueCase(
  one: EffectCase,
  sessionId: string,
  store: SessionStore,
  human: Human,
): Promise<EffectEnding> {
  const session = await agentFor(one, store).resumeSession(sessionId)
  let asked = 0
  const again = () => (one.keyed ? session.stream('Pay invoice 17 now.').result : session.resume().result)
  let result = await again()
  // A slow store may not take the end of the aborted run, or release its lease, within the grace of the abort.
  while (result.error instanceof SessionBusyError || result.error?.code === 'session-open') {
    if (result.error.code === 'session-open') await session.abort()
    else await sleep(leaseMs / 8)
    result = await again()
  }
  while (result.status === 'suspended') {
    asked += result.pending.uncertain.length
    result = await session.resume(await decide(result.pending, human)).result
  }
  return { status: result.status, asked, ...(result.error && { error: result.error.message }) }
}

/** What models and scripts were told in a log. */
export async function toldIn(store: SessionStore, log: string): Promise<readonly string[]> {
  const entries = await readLog(store, log)
  return entries.flatMap((entry) =>
    entry.type === 'call' && entry.op === 'settled' ? [JSON.stringify(entry.output)] : [],
  )
}
