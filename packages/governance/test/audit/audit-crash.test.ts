import { RunState } from '@provost/agent'
import type { Agent } from '@provost/agent'
import { createWorld, mortal } from '@provost/agent/test/crash/crash-world'
import type { Death, World } from '@provost/agent/test/crash/crash-world'
import type { RunResult, SessionStore } from '@provost/core'
import { isRecord, ProvostError } from '@provost/core'
import { auditLog, verifyAudit } from '@provost/governance'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'

import { full } from '../fixture/full.ts'
import { desk, exportedLines, key, runDesk, textOfLines } from './audited-desk.ts'

const sessionId = 'session'

/** Resumes the run from the log, and answers what it asks. A call in doubt is not repeated. */
async function goOn(agent: Agent, { store }: World, signal?: AbortSignal): Promise<string> {
  let offset = 0
  let start: object | undefined
  for await (const entry of store.read(sessionId)) {
    offset = entry.offset
    if (entry.type === 'run' && entry.op === 'started') start = { manifest: entry.manifest, runId: entry.runId }
  }
  if (!start) return (await runDesk(agent, sessionId)).sessionId
  const state = { v: 1, ...start, agent: 'desk', cursor: { sessionId, ...start, offset } }
  let result: RunResult = await agent.run(RunState.fromJSON(JSON.stringify(state), agent), signal && { signal })
  while (result.status === 'suspended') {
    const { approvals, uncertain } = result.pending
    result = await agent.run(result.state, {
      approvals: approvals.map(({ id }) => ({ id, decision: 'approve', by: 'ann' })),
      uncertain: uncertain.map(({ callId }) => ({ callId, decision: 'done', output: 'sent', by: 'ann' })),
    })
  }
  return result.status
}

describe('an audit of a run whose process died after any append', () => {
  test.for<Death>(['unanswered', 'unwritten', 'refused'])(
    'verifies once another process has ended it: %s',
    async (death) => {
      const stride = full ? 1 : 4
      let lives = 0
      for (; ; lives += stride) {
        const world = createWorld()
        const { store, died } = mortal(world, lives, death)
        await Promise.race([died, runDesk(desk(store), sessionId).catch(() => {})])
        const stored = world.stored.length
        await goOn(desk(mortal(world, Infinity, 'refused').store), world)
        const { problems, links } = verifyAudit(textOfLines(await exportedLines(world.store, sessionId)), { key })
        expect({ lives, problems }).toEqual({ lives, problems: [] })
        expect(links).toBeGreaterThan(5)
        if (world.stored.length === stored) break
      }
      expect(lives).toBeGreaterThan(20)
    },
  )

  test('verifies once another process has aborted it', async () => {
    const stride = full ? 1 : 2
    const statuses = new Set<string>()
    for (let lives = 1; ; lives += stride) {
      const world = createWorld()
      const { store, died } = mortal(world, lives, 'unanswered')
      await Promise.race([died, runDesk(desk(store), sessionId).catch(() => {})])
      const stored = world.stored.length
      statuses.add(await goOn(desk(mortal(world, Infinity, 'refused').store), world, AbortSignal.abort()))
      const { problems } = verifyAudit(textOfLines(await exportedLines(world.store, sessionId)), { key })
      expect({ lives, problems }).toEqual({ lives, problems: [] })
      if (world.stored.length === stored) break
    }
    expect([...statuses]).toContain('aborted')
  })
})

test('an audit verifies where a child ended after the run above was left, since the store did not take its entries', async () => {
  const world = createWorld()
  const { store } = mortal(world, Infinity, 'refused')
  let isAway = false
  const left: SessionStore = {
    ...store,
    async append(log, entries, terms) {
      // The first that fails is the head of the child.
      isAway ||=
        log === sessionId &&
        entries.some((entry) => entry.type === 'ext' && isRecord(entry.data) && 'child' in entry.data)
      if (isAway && log === sessionId)
        throw new ProvostError('store-unreachable', 'The store is away.', { retryable: true })
      return store.append(log, entries, terms)
    },
  }
  await runDesk(desk(left), sessionId).catch(() => {})
  expect(isAway).toBe(true)
  expect(await goOn(desk(store), world)).toBe('completed')
  const exported = textOfLines(await exportedLines(world.store, sessionId))
  expect(verifyAudit(exported, { key }).problems).toEqual([])
})

test('an audit verifies where the store did not take the end of a child, and the run above wrote it', async () => {
  const world = createWorld()
  const { store } = mortal(world, Infinity, 'refused')
  let refusals = 0
  const refusing: SessionStore = {
    ...store,
    async append(log, entries, terms) {
      // The end of the child, and its end as failed.
      if (log !== sessionId && entries.some((entry) => entry.type === 'run' && entry.op === 'ended') && refusals++ < 2)
        throw new Error('refused')
      return store.append(log, entries, terms)
    },
  }
  await runDesk(desk(refusing), sessionId)
  const lines = await exportedLines(world.store, sessionId)
  const entries = lines.flatMap(({ entry }) => entry ?? [])
  const joined = entries.find((entry) => entry.type === 'child' && entry.op === 'joined')
  const ended = entries.find((entry) => entry.type === 'run' && entry.op === 'ended' && entry.runId !== joined?.runId)
  expect([refusals, joined, ended]).toMatchObject([3, { status: 'failed' }, { status: 'failed' }])
  expect(verifyAudit(textOfLines(lines), { key }).problems).toEqual([])
})

describe('an audit of a run that several drivers continue', () => {
  const death = fc.constantFrom<Death>('unanswered', 'unwritten', 'refused')
  const deaths = fc.array(fc.record({ lives: fc.nat(40), death }), { minLength: 1, maxLength: 4 })

  /** Lets drivers of one process continue a run until each dies, and the last one end it. Returns the problems. */
  async function problemsAfter(plan: readonly { readonly lives: number; readonly death: Death }[]): Promise<unknown> {
    const world = createWorld()
    // One extension for all: the process still has drivers that wait for a store which never answers.
    const extensions = [auditLog({ key })]
    for (const { lives, death: how } of plan) {
      const { store, died } = mortal(world, lives, how)
      await Promise.race([died, goOn(desk(store, extensions), world).catch(() => {})])
    }
    await goOn(desk(mortal(world, Infinity, 'refused').store, extensions), world)
    return verifyAudit(textOfLines(await exportedLines(world.store, sessionId)), { key }).problems
  }

  test.each([
    ['the child was running', [{ lives: 30, death: 'refused' }]],
    ['a link was being written', [{ lives: 16, death: 'unwritten' }]],
    ['the end was being linked', [{ lives: 44, death: 'unwritten' }]],
  ] as const)('verifies if a driver before it died while %s', async (_, plan) => {
    expect(await problemsAfter(plan)).toEqual([])
  })

  test('verifies wherever each of them dies', async () => {
    await fc.assert(
      fc.asyncProperty(deaths, async (plan) => {
        expect(await problemsAfter(plan)).toEqual([])
      }),
      { numRuns: full ? 100 : 5 },
    )
  })
})
