import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { createAgent, RunState } from '@provost/agent'
import type { Agent } from '@provost/agent'
import type { Extension, SessionStore, Tool, ToolResult } from '@provost/core'
import { defineExtension, SessionBusyError } from '@provost/core'
import { endEffect, exportSession, importSession, listEffects, memoryStore, sqliteStore } from '@provost/sessions'
import { crashAt, effectServer, scriptedModel } from '@provost/testing'
import type { CrashInjector, EffectServer, ScriptedStep } from '@provost/testing'
import { tool } from '@provost/tools'
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { z } from 'zod'

import { readLog, stateFrom } from '../crash/crash-site.ts'

let bank: EffectServer
const folder = mkdtempSync(join(tmpdir(), 'provost-doubt-'))
let files = 0

beforeEach(async () => {
  bank = await effectServer({ knowsKeys: false })
})

afterEach(() => bank.close())
afterAll(() => rmSync(folder, { recursive: true }))

const input = z.object({ invoice: z.string() })
const call: NonNullable<ScriptedStep['toolCalls']>[number] = { name: 'pay', input: { invoice: '17' } }
const done: ScriptedStep = { text: 'done' }
const twice: readonly ScriptedStep[] = [{ toolCalls: [call] }, { toolCalls: [call] }, done]

interface Desk {
  readonly steps?: readonly ScriptedStep[]
  readonly store?: SessionStore
  readonly scope?: 'session' | 'agent'
  readonly lookup?: boolean
  readonly extensions?: readonly Extension[]
  readonly effectKey?: () => string
  readonly sent?: () => Promise<void>
  readonly more?: readonly Tool[]
  readonly timeoutMs?: number
}

function deskWith({
  steps = twice,
  store = memoryStore(),
  scope = 'session',
  lookup,
  extensions,
  ...given
}: Desk): Agent {
  const pay = tool({
    name: 'pay',
    input,
    effectKey: given.effectKey ?? (({ invoice }) => invoice),
    effectScope: scope,
    ...(given.timeoutMs !== undefined && { timeoutMs: given.timeoutMs }),
    async execute({ invoice }, { idempotencyKey }) {
      const headers = { 'idempotency-key': idempotencyKey }
      const response = await fetch(`${bank.url}/effects`, { method: 'POST', headers, body: JSON.stringify(invoice) })
      await given.sent?.()
      return `receipt ${await response.text()}`
    },
    ...(lookup && {
      async lookup(key: string) {
        const response = await fetch(`${bank.url}/effects/${key}`)
        return response.ok ? { output: `receipt ${await response.text()}` } : undefined
      },
    }),
  })
  const model = scriptedModel(steps, { after: 'repeat-last' })
  return createAgent({
    name: 'desk',
    model,
    tools: [pay, ...(given.more ?? [])],
    store,
    leaseMs: 100,
    ...(extensions && { extensions }),
  })
}

/** Adds moments around each write to the ledger to those of an injector. */
function withLedger(crash: CrashInjector, store: SessionStore): SessionStore {
  return {
    ...crash.store(store),
    async deliver(...given) {
      await crash.moment('deliver-before')
      const outcome = await store.deliver(...given)
      await crash.moment('deliver-after')
      return outcome
    },
  }
}

const extension = (hooks: Extension['hooks']): Extension => defineExtension({ name: 'guard', scope: 'agent', hooks })

/** Resumes a session of a dead process once its lease has expired. */
async function resumed(agent: Agent, store: SessionStore, id: string) {
  for (;;) {
    const state = stateFrom(await readLog(store, id), id, agent)
    if (!state) throw new Error(`${id} has not begun`)
    const result = await agent.run(state)
    if (!(result.error instanceof SessionBusyError)) return result
    await sleep(20)
  }
}

describe('an effect in doubt', () => {
  it('is asked about again when another call attempted it while a human decided about the earlier attempt', async () => {
    const store = memoryStore()
    const steps: readonly ScriptedStep[] = [{ toolCalls: [call] }, { text: 'done' }]
    const desk = (): Agent => deskWith({ steps, store, scope: 'agent' })
    bank.fail('drop', 'lose-reply')
    await desk().run('pay')
    const first = desk()
    const asked = await first.run('pay')
    const second = desk()
    const other = await second.run('pay')
    const retry = ({ pending }: typeof asked) => ({
      uncertain: pending.uncertain.map(({ callId }) => ({ callId, decision: 'retry' as const })),
    })
    expect([asked.status, other.status]).toEqual(['suspended', 'suspended'])
    expect((await second.run(other.state, retry(other))).status).toBe('completed')
    expect(bank.effects).toHaveLength(1)
    const again = await first.run(asked.state, retry(asked))
    expect(again.status).toBe('suspended')
    expect(again.pending.uncertain).toHaveLength(1)
    expect(bank.effects).toHaveLength(1)
    expect((await first.run(again.state, retry(again))).status).toBe('completed')
  })

  it('is put to a human for each of two calls of a step whose process died, without waiting for the time limit', async () => {
    const store = sqliteStore(join(folder, `${files++}.db`))
    const steps: readonly ScriptedStep[] = [{ toolCalls: [call, call] }, { text: 'done' }]
    const died = Promise.withResolvers<void>()
    const crash = crashAt({ name: 'sent', nth: 1 }, () => died.resolve())
    const first = deskWith({ steps, store: withLedger(crash, store), sent: () => crash.moment('sent') })
    void first.run('pay', { sessionId: 's' })
    await died.promise
    const second = await resumed(deskWith({ steps, store }), store, 's')
    expect(second.pending.uncertain).toHaveLength(2)
    const uncertain = second.pending.uncertain.map(({ callId }) => ({
      callId,
      decision: 'done' as const,
      output: 'paid',
    }))
    expect((await deskWith({ steps, store }).run(second.state, { uncertain })).status).toBe('completed')
    expect(bank.effects).toHaveLength(1)
  })

  it('has each of its attempts in the log of the call, also where it started too late for the first one', async () => {
    const store = memoryStore()
    const clock = vi.spyOn(Date, 'now')
    const slow: SessionStore = {
      ...store,
      append(log, entries, at) {
        const now = performance.timeOrigin + performance.now()
        if (entries.some((entry) => entry.type === 'call' && entry.op === 'started')) clock.mockReturnValue(now + 5000)
        return store.append(log, entries, at)
      },
    }
    const { sessionId } = await deskWith({ steps: [{ toolCalls: [call] }, done], store: slow }).run('pay')
    const entries = await readLog(store, sessionId)
    const marks = entries.flatMap((entry) => (entry.type === 'call' && entry.op === 'started' ? [entry.effect] : []))
    expect(marks.map((mark) => mark?.attempt)).toEqual([1, 2])
    expect(new Set(marks.map((mark) => mark?.idempotencyKey)).size).toBe(1)
    expect(bank.effects).toHaveLength(1)
  })

  it('stays once when a hook withholds its result and the process dies before the ledger has its end', async () => {
    const guard = extension({
      'tool.result'({ output }: ToolResult) {
        if (output.type === 'text') throw new Error('the check is broken')
      },
    })
    for (const nth of [3, 4]) {
      const store = sqliteStore(join(folder, `${files++}.db`))
      const died = Promise.withResolvers<void>()
      const crash = crashAt({ name: 'deliver-before', nth }, () => died.resolve())
      const first = deskWith({ store: withLedger(crash, store), extensions: [guard] })
      await Promise.race([first.run('pay', { sessionId: 's' }), died.promise])
      const before = bank.effects.length
      await resumed(deskWith({ store, extensions: [guard] }), store, 's')
      expect(bank.effects).toHaveLength(before)
    }
  })

  it.each(['confirmed', 'compensated'] as const)(
    'is not repeated by its own call when the ledger has it as %s, and a human lets the call retry after a crash',
    async (known) => {
      // The process dies after the ledger has the end of the call, and before its log has the result.
      const withhold = extension({
        'tool.result'({ output }: ToolResult) {
          if (output.type === 'text') throw new Error('the check is broken')
        },
      })
      const store = sqliteStore(join(folder, `${files++}.db`))
      const died = Promise.withResolvers<void>()
      const crash = crashAt({ name: 'deliver-after', nth: 3 }, () => died.resolve())
      void deskWith({ store: withLedger(crash, store), extensions: [withhold] }).run('pay', { sessionId: 's' })
      await died.promise
      for await (const record of listEffects(store, { scope: 'session', scopeId: 's' })) {
        expect(record.state).toBe('confirmed')
        if (known === 'compensated') await endEffect(store, record, record.claim, known, { by: 'the bank' })
      }
      const desk = deskWith({ steps: [{ text: 'done' }], store })
      const asked = await resumed(desk, store, 's')
      const uncertain = asked.pending.uncertain.map(({ callId }) => ({ callId, decision: 'retry' as const }))
      expect(uncertain).toHaveLength(1)
      const { status, messages } = await desk.run(asked.state, { uncertain })
      expect(status).toBe('completed')
      expect(JSON.stringify(messages)).toContain(known === 'confirmed' ? 'Done before' : 'was undone')
      expect(bank.effects).toHaveLength(1)
    },
  )

  it('is not caused by a call that starts so late that another call has caused it meanwhile', async () => {
    const store = sqliteStore(join(folder, `${files++}.db`))
    const [claimed, caused] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const slow: SessionStore = {
      ...store,
      async append(log, entries, at) {
        if (entries.some((entry) => entry.type === 'call' && entry.op === 'started')) {
          claimed.resolve()
          await caused.promise
        }
        return store.append(log, entries, at)
      },
    }
    const making = { steps: [{ toolCalls: [call] }, done], scope: 'agent', lookup: true, timeoutMs: 500 } as const
    const late = deskWith({ ...making, store: slow }).run('pay')
    await claimed.promise
    expect((await deskWith({ ...making, store }).run('pay')).status).toBe('completed')
    expect(bank.effects).toHaveLength(1)
    caused.resolve()
    expect((await late).status).toBe('completed')
    expect(bank.effects).toHaveLength(1)
  })

  it('keeps the state of a call whose effectKey is not stable', async () => {
    let n = 0
    const store = memoryStore()
    const { sessionId } = await deskWith({ store, effectKey: () => `${n++}` }).run('pay')
    const states = new Set<string>()
    for await (const { state } of listEffects(store, { scope: 'session', scopeId: sessionId })) states.add(state)
    expect([...states]).toEqual(['confirmed'])
  })
})

describe('the ledger of effects', () => {
  /** Returns what the model of another session is told. */
  async function toldElsewhere(desk: Agent): Promise<string> {
    await desk.run('pay')
    const { messages } = await desk.run('pay')
    return JSON.stringify(messages)
  }
  const once: readonly ScriptedStep[] = [{ toolCalls: [call] }, { text: 'done' }]

  it('tells another session without a principal only that the effect took place', async () => {
    const steps = [...once, ...once]
    const told = await toldElsewhere(deskWith({ steps, scope: 'agent' }))
    expect(told).toContain('Done before')
    expect(told).not.toContain('receipt')
    expect(bank.effects).toHaveLength(1)
  })

  it('does not tell another session what a lookup finds', async () => {
    bank.fail('lose-reply')
    const told = await toldElsewhere(deskWith({ steps: [...once, ...once], scope: 'agent', lookup: true }))
    expect(told).toContain('Done before')
    expect(told).not.toContain('receipt')
  })

  it('does not answer a call that a policy denies', async () => {
    const seen: unknown[] = []
    const guard = extension({
      'tool.call'({ input: args }) {
        seen.push(args)
        return seen.length > 1 ? { deny: 'not now' } : undefined
      },
    })
    const { messages } = await deskWith({ extensions: [guard] }).run('pay')
    expect(seen).toHaveLength(2)
    expect(JSON.stringify(messages)).toContain('not now')
  })

  it('keeps the label of the stored result', async () => {
    const labels: string[] = []
    for await (const event of deskWith({}).stream('pay')) {
      if (event.type === 'tool.execute.end') labels.push(`${event.via} ${JSON.stringify(event.label)}`)
    }
    expect(labels.map((label) => label.split(' ')[0])).toEqual(['executed', 'ledger'])
    expect(new Set(labels.map((label) => label.slice(label.indexOf(' ')))).size).toBe(1)
  })

  it('may have answered a call of a session that is exported and imported, or whose run state is resumed', async () => {
    const ask = tool({ name: 'ask', input: z.object({}), needsApproval: true, execute: () => 'asked' })
    const steps: readonly ScriptedStep[] = [...twice.slice(0, 2), { toolCalls: [{ name: 'ask', input: {} }] }, done]
    const from = memoryStore()
    const desk = deskWith({ steps, store: from, more: [ask] })
    const { state, pending, sessionId } = await desk.run('pay')
    const key = 'a key of sixteen bytes'
    const imported = await importSession(memoryStore(), exportSession(from, sessionId, { key }), { key })
    expect(imported).toMatchObject({ trusted: true })
    const approvals = pending.approvals.map(({ id }) => ({ id, decision: 'approve' as const }))
    const restored = RunState.fromJSON(JSON.parse(JSON.stringify(state)), desk)
    expect((await desk.run(restored, { approvals })).status).toBe('completed')
  })

  it.each(['effect:0', 'effects:0'])('cannot be written as a session with the id %s', async (sessionId) => {
    const desk = deskWith({})
    expect((await desk.run('pay', { sessionId }).catch((error: unknown) => ({ error }))).error).toMatchObject({
      code: 'invalid-session-id',
    })
    await expect(desk.createSession({ id: sessionId })).rejects.toMatchObject({ code: 'invalid-session-id' })
    await expect(desk.resumeSession(sessionId)).rejects.toMatchObject({ code: 'invalid-session-id' })
  })
})
