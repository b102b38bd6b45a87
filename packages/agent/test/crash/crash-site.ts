import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { createAgent, RunState } from '@provost/agent'
import type { Agent } from '@provost/agent'
import type { Decisions, Entry, Json, RunResult, SessionStore, Tool, ToolContext } from '@provost/core'
import { SessionBusyError } from '@provost/core'
import { postgresStore, sqliteStore } from '@provost/sessions'
import { effectFile, scriptedModel } from '@provost/testing'
import type { CrashInjector, EffectFile, ScriptedStep } from '@provost/testing'
import { tool } from '@provost/tools'
import { z } from 'zod'

/** What all processes of a crash test share: a store, and a folder for what tools did to the outside. */
export interface Site {
  readonly kind: 'sqlite' | 'postgres'
  /** A file, or the URL of a database. */
  readonly place: string
  readonly folder: string
  /** Default 250 ms: what a dead process held is soon free. */
  readonly leaseMs?: number
}

export function openStore({ kind, place }: Site): SessionStore {
  return kind === 'sqlite' ? sqliteStore(place) : postgresStore(place)
}

/** What its tools did to the outside for a session. */
export function outsideOf({ folder }: Site, sessionId: string): EffectFile {
  return effectFile(join(folder, `${sessionId}.effects`))
}

/** What one process did for a session. */
export interface Deeds {
  /** Calls whose tools it ran. */
  readonly ran: string[]
  /** Steps for which it asked the model. */
  readonly asked: number[]
  /** Uncertain calls, which may have taken effect: a decision lets each run again or not. */
  readonly uncertain: string[]
}

export function noDeeds(): Deeds {
  return { ran: [], asked: [], uncertain: [] }
}

const calls = (...names: readonly string[]): ScriptedStep['toolCalls'] & {} =>
  names.map((name, n) => ({ name, input: { n }, id: `call_${n}` }))

/** Six steps: reads, parallel and sequential writes, an approval, a remote call. The provider's ids repeat. */
const script: readonly ScriptedStep[] = [
  { text: 'Let me see.', toolCalls: calls('look', 'look') },
  { text: 'Two seats.', toolCalls: calls('book', 'look', 'book') },
  { text: 'It costs.', toolCalls: calls('pay', 'book') },
  { toolCalls: calls('courier', 'note', 'note') },
  { text: 'Check it.', toolCalls: calls('look', 'note') },
  { text: 'It is done.' },
]
/** Calls of the script whose tools write. */
export const writes = 7

const input = z.object({ n: z.number() })

/** A process of its own has nothing but the site; `crash` decides whether it lives. */
export function clerk(site: Site, sessionId: string, store: SessionStore, deeds: Deeds, crash?: CrashInjector): Agent {
  const write = (output: Json) => {
    const effect = outsideOf(site, sessionId).effect(output, crash)
    return async (given: unknown, ctx: ToolContext): Promise<Json> => {
      deeds.ran.push(ctx.callId)
      return effect(given, ctx)
    }
  }
  const tools: readonly Tool[] = [
    tool({
      name: 'look',
      input,
      effect: 'read',
      async execute({ n }, { callId }) {
        deeds.ran.push(callId)
        await crash?.moment('in a read')
        return { n, free: true }
      },
    }),
    tool({ name: 'book', input, execute: write({ booked: true }) }),
    tool({ name: 'pay', input, needsApproval: true, execute: write('paid') }),
    tool({ name: 'note', input, executionMode: 'sequential', execute: write('noted') }),
    tool({ name: 'courier', input }),
  ]
  const model = scriptedModel(
    [
      ({ messages }) => {
        const step = messages.filter(({ role }) => role === 'assistant').length
        deeds.asked.push(step + 1)
        return script[step] ?? { text: 'Nothing more.' }
      },
    ],
    { after: 'repeat-last' },
  )
  return createAgent({ name: 'clerk', instructions: 'Serve.', model, tools, store, leaseMs: site.leaseMs ?? 250 })
}

export async function readLog(store: SessionStore, sessionId: string): Promise<readonly Entry[]> {
  const entries: Entry[] = []
  for await (const entry of store.read(sessionId)) entries.push(entry)
  return entries
}

/** The state of the last run of a log, made from nothing else. */
export function stateFrom(entries: readonly Entry[], sessionId: string, agent: Agent): RunState<string> | undefined {
  const started = entries.findLast((entry) => entry.type === 'run' && entry.op === 'started')
  if (started?.type !== 'run' || started.op !== 'started') return undefined
  const { manifest, runId } = started
  const cursor = { sessionId, runId, offset: entries.length }
  return RunState.fromJSON({ v: 1, manifest, agent: agent.name, cursor }, agent)
}

/** Resumes a session from its log, or starts it, until its run ends. Waits until the lease of a dead process expires. */
export async function goOn(
  site: Site,
  sessionId: string,
  store: SessionStore,
  deeds: Deeds,
  crash?: CrashInjector,
): Promise<RunResult> {
  const agent = clerk(site, sessionId, store, deeds, crash)
  let decisions: Decisions = {}
  for (;;) {
    const state = stateFrom(await readLog(store, sessionId), sessionId, agent)
    const result = state ? await agent.run(state, decisions) : await agent.run('Book it.', { sessionId })
    if (result.status === 'suspended') {
      deeds.uncertain.push(...result.pending.uncertain.map(({ callId }) => callId))
      decisions = outsideOf(site, sessionId).answers(result.pending, 'delivered')
    } else if (result.error instanceof SessionBusyError) await sleep(20)
    else return result
  }
}
