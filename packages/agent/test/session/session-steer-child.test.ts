import { createAgent, handoff } from '@provost/agent'
import type { Agent, Session } from '@provost/agent'
import type { CompositeContext, Entry, EntryOf, SessionStore, Tool } from '@provost/core'
import { textOf } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import { assertWellFormed, scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

import { createWorld, mortal } from '../crash/crash-world.ts'
import type { Death } from '../crash/crash-world.ts'
import { echo, extension, say } from '../hooks/hook-scenario.ts'
import { readLog } from '../run/run-check.ts'
import { gate, heard, pay, payTool } from './session-world.ts'

const code = (expected: string) => expect.objectContaining({ code: expected })

/** A store that appears to outlive the process. */
function lasting(): SessionStore {
  const { ephemeral: _, ...store } = memoryStore()
  return store
}

/** Calls its tools once, then says what users have told it. It goes by what it is sent, in any process. */
function worker(tools: readonly Tool[], calls = tools.map(({ name }) => ({ name, input: {} }))): Agent {
  return createAgent({
    name: 'worker',
    tools,
    maxParallelTools: 1,
    model: scriptedModel(
      [
        ({ messages }) => {
          if (messages.every(({ role }) => role !== 'tool')) return { toolCalls: calls }
          return { text: JSON.stringify(messages.filter(({ role }) => role === 'user').map(({ content }) => content)) }
        },
      ],
      { after: 'repeat-last' },
    ),
  })
}

type Way = 'tool' | 'spawn' | 'fan-out' | 'return' | 'deep'

/** An agent with a child of some kind. */
function boss(way: Way, child: Agent, store: SessionStore): Agent {
  const shared = {
    name: 'boss',
    store,
    model: scriptedModel(
      [
        ({ messages }) =>
          messages.at(-1)?.role === 'tool'
            ? { text: `heard ${JSON.stringify(messages.at(-1))}` }
            : { toolCalls: [{ name: way === 'return' ? 'transfer_to_worker' : 'go', input: {} }] },
      ],
      { after: 'repeat-last' },
    ),
  }
  const input = z.object({})
  if (way === 'return') return createAgent({ ...shared, handoffs: [handoff(child, { mode: 'return' })] })
  const composite = (execute: (ctx: CompositeContext) => Promise<unknown>): Agent =>
    createAgent({ ...shared, tools: [tool({ name: 'go', input, composite: true, execute: (_, ctx) => execute(ctx) })] })
  if (way === 'spawn') return composite(async (ctx) => (await ctx.spawn(child, 'Work.', { key: 'one' })).text)
  if (way === 'fan-out')
    return composite(
      async (ctx) =>
        (await ctx.fanOut({ children: [{ agent: child, input: 'Work.' }], mergeStrategy: 'concat' })).output,
    )
  const next = way === 'deep' ? boss('tool', child, store) : child
  return createAgent({
    ...shared,
    tools: [next.toTool({ name: 'go', description: 'go', input, prompt: () => 'Work.' })],
  })
}

/** Resolves with the id of the run of an agent, once it is there. */
function runOf(session: Session, agent: string): Promise<string> {
  return new Promise((resolve) => session.on('agent.start', (event) => event.agent === agent && resolve(event.runId)))
}

async function logsBelow(store: SessionStore, log: string): Promise<readonly (readonly Entry[])[]> {
  const entries = await readLog(store, log)
  const below = entries.flatMap((entry) => (entry.type === 'child' && entry.op === 'spawned' ? [entry.log] : []))
  return [entries, ...(await Promise.all(below.map((name) => logsBelow(store, name)))).flat()]
}

/** What entered the innermost log while it was open, and how. */
async function entered(store: SessionStore, sessionId = 's'): Promise<readonly string[]> {
  const own = (await logsBelow(store, sessionId)).at(-1) ?? []
  return own
    .filter((entry): entry is EntryOf<'message'> => entry.type === 'message' && entry.message.role === 'user')
    .filter(({ via }) => via !== 'input')
    .map(({ via, message }) => `${via}: ${textOf(message)}`)
}

/** The inputs that a log has taken from its inbox. */
function takenIn(log: readonly Entry[]): readonly EntryOf<'resolved'>[] {
  return log.filter(
    (entry): entry is EntryOf<'resolved'> => entry.type === 'resolved' && entry.token.startsWith('send/'),
  )
}

describe('what is sent to a child of the run in progress', () => {
  test.for<Way>(['tool', 'spawn', 'fan-out', 'return', 'deep'])('enters there: %s', async (way) => {
    const store = memoryStore()
    const work = gate()
    const agent = boss(way, worker([work.tool, echo], [{ name: 'work', input: {} }, say('never')]), store)
    const session = await agent.createSession({ id: 's', principal: { id: 'ann' } })
    const events = heard(session)
    const started = runOf(session, 'worker')
    session.send('go')
    await work.entered
    const to = await started
    session.send('No, this.', { to })
    session.send('And that.', { to, mode: 'queue' })
    work.open()
    const result = await session.waitForIdle()
    expect(result?.status).toBe('completed')
    expect(await entered(store)).toEqual(['steer: No, this.', 'queue: And that.'])
    const skipped = events.filter(({ type }) => type === 'tool.skipped')
    expect(skipped).toMatchObject([{ agent: 'worker', toolName: 'echo' }])
    expect(events.filter(({ type }) => type === 'agent.steered')).toMatchObject([{ runId: to, text: 'No, this.' }])
    expect(result?.text).toMatch(/No, this\..*And that\./)
    // It is said to the child alone: the logs of the runs above do not record it.
    expect(session.messages.filter(({ role }) => role === 'user').map((message) => textOf(message))).toEqual(['go'])
    const logs = await logsBelow(store, 's')
    expect(logs.map((own) => takenIn(own).map(({ by }) => by))).toEqual(
      logs.map((_, depth) => (depth === logs.length - 1 ? ['ann', 'ann'] : depth === 0 ? ['ann'] : [])),
    )
    assertWellFormed(session.messages)
  })

  test('is the human’s own word there', async () => {
    const store = memoryStore()
    const work = gate()
    const intents: string[][] = []
    const child = createAgent({
      name: 'worker',
      tools: [work.tool],
      extensions: [
        extension('listen', {
          'model.request': (_, ctx) => void intents.push(ctx.intent.map((message) => textOf(message))),
        }),
      ],
      model: scriptedModel([{ toolCalls: [{ name: 'work', input: {} }] }, { text: 'done' }]),
    })
    const session = await boss('tool', child, store).createSession({ id: 's' })
    const started = runOf(session, 'worker')
    session.send('go')
    await work.entered
    session.send('This.', { to: await started })
    work.open()
    await session.waitForIdle()
    expect(intents).toEqual([['go'], ['go', 'This.']])
  })

  test('is taken back before it has entered', async () => {
    const store = memoryStore()
    const work = gate()
    const session = await boss('deep', worker([work.tool]), store).createSession({ id: 's' })
    const started = runOf(session, 'worker')
    session.send('go')
    await work.entered
    const regret = new AbortController()
    session.send('No.', { to: await started, signal: regret.signal })
    await new Promise(setImmediate)
    regret.abort()
    work.open()
    expect((await session.waitForIdle())?.status).toBe('completed')
    expect(await entered(store)).toEqual([])
  })

  test('is refused where no such child is, or it has ended', async () => {
    const work = gate()
    const session = await boss('tool', worker([work.tool]), memoryStore()).createSession({ id: 's' })
    const started = runOf(session, 'worker')
    const ended = new Promise<void>((resolve) =>
      session.on('tool.execute.end', ({ toolName, agent }) => {
        if (agent !== 'boss' || toolName !== 'go') return
        expect(() => session.send('Late.', { to })).toThrow(code('unknown-run'))
        resolve()
      }),
    )
    session.send('go')
    await work.entered
    const to = await started
    for (const wrong of ['x', `${to}/1/call/0/run`, to.slice(0, -1), `${to}x`])
      expect(() => session.send('x', { to: wrong })).toThrow(code('unknown-run'))
    work.open()
    await ended
    await session.waitForIdle()
    await expect(session.deliver('x', { to })).rejects.toThrow(code('unknown-run'))
    await expect(session.deliver('x', { to, data: 1 })).rejects.toThrow(code('invalid-option'))
    session.send('x', { to })
    await expect(session.waitForIdle()).rejects.toThrow(code('unknown-run'))
    expect(session.messages.some((message) => textOf(message) === 'x')).toBe(false)
  })
})

describe('from another process', () => {
  test.for<Way>(['tool', 'deep'])('it reaches a child that goes on, and is said once: %s', async (way) => {
    const store = lasting()
    const work = gate()
    const agent = boss(way, worker([work.tool]), store)
    const session = await agent.createSession({ id: 's' })
    const started = runOf(session, 'worker')
    session.send('go')
    await work.entered
    const to = await started
    const there = await boss(way, worker([work.tool]), store).resumeSession('s', { principal: { id: 'bob' } })
    expect(await there.deliver('No, this.', { to, key: 'one' })).toBe('accepted')
    expect(await there.deliver('No, this.', { to, key: 'one' })).toBe('duplicate')
    there.send('And that.', { to, mode: 'queue' })
    await there.waitForIdle()
    await expect(there.deliver('x', { to: `${to}/2` })).rejects.toThrow(code('unknown-run'))
    work.open()
    expect((await session.waitForIdle())?.status).toBe('completed')
    expect(await entered(store)).toEqual(['steer: No, this.', 'queue: And that.'])
    expect(await there.deliver('No, this.', { to, key: 'one' })).toBe('duplicate')
  })

  test('an input that is too late for a child is reported once and has no other effect', async () => {
    const store = lasting()
    const work = gate()
    const session = await boss('tool', worker([work.tool]), store).createSession({ id: 's' })
    const events = heard(session)
    session.send('go')
    await work.entered
    const rubbish = [{ to: 17 }, { to: 'x', input: 'y' }, { to: 'x'.repeat(5000), mode: 'steer', input: 'z' }]
    for (const [index, value] of rubbish.entries()) await store.deliver('s', `send/${index}`, value, 'mallory')
    work.open()
    expect((await session.waitForIdle())?.status).toBe('completed')
    const errors = events.flatMap((event) => (event.type === 'agent.error' ? [event.error.code] : []))
    expect(errors).toEqual(['unknown-run', 'unknown-run', 'unknown-run'])
    const again = await boss('tool', worker([work.tool]), store).resumeSession('s')
    const later = heard(again)
    expect((await again.stream('more').result).status).toBe('completed')
    expect(later.filter(({ type }) => type === 'agent.error')).toEqual([])
  })
})

describe('a child that waits', () => {
  test.for<Way>(['tool', 'deep'])('reads it when it would end, in whatever process goes on: %s', async (way) => {
    const store = lasting()
    const { tool: payment, done } = payTool()
    const make = (): Agent => boss(way, worker([payment], [pay(5)]), store)
    const session = await make().createSession({ id: 's' })
    const started = runOf(session, 'worker')
    session.send('go')
    const pending = (await session.waitForIdle())?.pending
    const to = await started
    session.send('First.', { to, mode: 'steer' })
    await session.waitForIdle()
    const there = await make().resumeSession('s')
    expect(await there.deliver('Second.', { to, mode: 'steer' })).toBe('accepted')
    await there.resolve({ approvals: [{ id: pending?.approvals[0]?.id ?? '', decision: 'approve' }] })
    expect((await there.waitForIdle())?.status).toBe('completed')
    expect(done).toEqual([5])
    expect(await entered(store)).toEqual(['queue: First.', 'queue: Second.'])
  })
})

const full = process.env['PROVOST_TEST_FULL'] === '1'

describe('wherever the process dies', () => {
  test.for<Way>(['tool', 'deep', 'return'])('it enters once: %s', async (way) => {
    const make = (store: SessionStore): Agent => boss(way, worker([look]), store)
    const look = tool({ name: 'look', input: z.object({}), effect: 'read', execute: () => 'seen' })
    let deaths = 0
    const ways: readonly Death[] = ['unanswered', 'unwritten']
    for (let lives = 0; deaths >= lives; lives += full ? 1 : 3) {
      // An append that was not written leaves what a death after the one before it does: otherwise they take turns.
      for (const death of full ? ways : ways.slice(lives % 2, (lives % 2) + 1)) {
        const world = createWorld()
        const { ephemeral: _, ...store } = world.store
        const first = mortal({ ...world, store }, lives, death)
        const session = await make(store).createSession({ id: 's' })
        const dying = await make(first.store).resumeSession('s')
        let said: string | undefined
        dying.on('tool.execute.start', ({ agent, runId }) => {
          if (agent !== 'worker') return
          dying.send('No, this.', { to: runId })
          said = runId
        })
        dying.send('go')
        await Promise.race([first.died.then(() => (deaths = lives + 3)), dying.waitForIdle()])
        // What had begun outlives it, as what the store has been given does.
        for (let round = 0; round < 3; round++) await new Promise(setImmediate)
        const again = await make(store).resumeSession('s')
        const result = again.status === 'suspended' ? await again.resume().result : await again.waitForIdle()
        expect(result?.status ?? 'completed').toBe('completed')
        const logs = await logsBelow(store, 's')
        const is = said === undefined ? [] : ['steer: No, this.']
        expect(await entered(store), `${lives} ${death}`).toEqual(is)
        expect(logs.slice(1).flatMap(takenIn), `${lives} ${death}`).toHaveLength(is.length)
        await session.close()
      }
    }
    expect(deaths).toBeGreaterThan(12)
  })
})
