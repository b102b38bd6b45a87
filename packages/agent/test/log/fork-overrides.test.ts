import { createAgent, foldLog, handoff } from '@provost/agent'
import type { Agent, AgentOptions } from '@provost/agent'
import type { Entry, Extension, ForkOffers, SessionStore } from '@provost/core'
import { defineExtension } from '@provost/core'
import type { ForkOptions } from '@provost/sessions'
import { forkSession, memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { describe, expect, test } from 'vitest'

async function entriesOf(store: SessionStore, log: string): Promise<readonly Entry[]> {
  const entries: Entry[] = []
  for await (const entry of store.read(log)) entries.push(entry)
  return entries
}

const named = (reason: string | undefined): Extension =>
  defineExtension<never>({
    name: 'payments',
    scope: 'tree',
    hooks: {
      'tool.call': ({ tool: { name } }) => (name === 'pay' && reason !== undefined ? { deny: reason } : undefined),
    },
  })

const offers = {
  policies: { lax: named(undefined), strict: named('The strict policy denies payments.') },
  prompts: { brief: 'Answer in one word.', dated: () => 'Answer as of today.' },
} satisfies ForkOffers

const ownPolicy = named('The own policy denies payments.')

const pay = tool({ name: 'pay', input: { type: 'object' } as const, effect: 'write', execute: () => 'paid' })

/** A clerk that pays as soon as it is asked, and repeats what it was told in its instructions and by the tool. */
function clerkOf(store: SessionStore, more: Partial<AgentOptions> = {}): Agent {
  const model = scriptedModel(
    [
      ({ messages }) => {
        const last = messages.at(-1)
        const [system] = messages
        if (last?.role !== 'tool') return { toolCalls: [{ name: 'pay', input: {} }] }
        return { text: `${JSON.stringify(system?.content)} ${JSON.stringify(last.content)}` }
      },
    ],
    { after: 'repeat-last' },
  )
  const options = { name: 'clerk', model, store, instructions: 'Answer at length.' }
  return createAgent({ ...options, tools: [pay], extensions: [ownPolicy], ...more }) as Agent
}

async function answeredBy(
  agent: Agent,
  store: SessionStore,
  id: string,
  overrides: ForkOffers = offers,
): Promise<string> {
  const session = await agent.resumeSession(id, { overrides, store })
  const result = await session.resume().result
  return result.status === 'failed' ? (result.error.code ?? '') : result.text
}

/** Returns a fork of a session in which the call of its first step is made again. */
async function forked(
  store: SessionStore,
  id: string,
  overrides: NonNullable<ForkOptions['overrides']>,
): Promise<string> {
  const entries = await entriesOf(store, id)
  const asked = entries.find(({ type, ...entry }) => type === 'message' && 'via' in entry && entry.via === 'model')
  const { sessionId } = await forkSession(store, id, { at: asked?.offset ?? 0, unfinished: 'continue', overrides })
  return sessionId
}

async function recorded(more: Partial<AgentOptions> = {}): Promise<{ store: SessionStore; id: string; agent: Agent }> {
  const store = memoryStore()
  const agent = clerkOf(store, more)
  const { sessionId, text } = await agent.run('Pay the bill.')
  expect(text).toContain('The own policy denies')
  return { store, agent, id: sessionId }
}

describe('a fork with overrides', () => {
  test('continues under another policy or other instructions, beside others, in any process', async () => {
    const { store, id } = await recorded()
    const made = [
      await forked(store, id, { policy: 'lax' }),
      await forked(store, id, { policy: 'strict', prompt: 'brief' }),
      await forked(store, id, { promptText: 'Answer in verse.' }),
      await forked(store, id, { prompt: 'dated' }),
    ]
    // Another agent object: nothing but the log tells it what was chosen.
    const answers: string[] = []
    for (const fork of made) answers.push(await answeredBy(clerkOf(store), store, fork))
    expect(answers[0]).toMatch(/Answer at length.*paid/u)
    expect(answers[1]).toMatch(/Answer in one word.*The strict policy denies/u)
    expect(answers[2]).toMatch(/Answer in verse.*The own policy denies/u)
    expect(answers[3]).toMatch(/Answer as of today.*The own policy denies/u)
    expect(foldLog(await entriesOf(store, made[1] ?? '')).overrides).toEqual({ policy: 'strict', prompt: 'brief' })
    expect(foldLog(await entriesOf(store, id)).overrides).toBeUndefined()
  })

  test('holds in later turns, and in forks of the fork unless they name others', async () => {
    const { store, id } = await recorded()
    const first = await forked(store, id, { policy: 'lax', prompt: 'brief' })
    const session = await clerkOf(store).resumeSession(first, { overrides: offers })
    await session.resume().result
    expect((await session.stream('Pay again.').result).text).toMatch(/one word.*paid/u)
    const { sessionId } = await forkSession(store, first, { overrides: { promptText: 'Answer in verse.' } })
    const again = await clerkOf(store).resumeSession(sessionId, { overrides: offers })
    expect((await again.stream('Pay again.').result).text).toMatch(/verse.*paid/u)
    const branch = await again.fork()
    expect((await branch.stream('Pay again.').result).text).toMatch(/verse.*paid/u)
  })

  test('is not continued by a process that lacks what it names', async () => {
    const { store, id, agent } = await recorded()
    const fork = await forked(store, id, { policy: 'lax' })
    const before = await entriesOf(store, fork)
    await expect(agent.resumeSession(fork)).rejects.toMatchObject({ code: 'override-not-offered' })
    await expect(agent.resumeSession(fork, { overrides: { policies: {} } })).rejects.toMatchObject({
      code: 'override-not-offered',
    })
    const { sessionId: ended } = await forkSession(store, id, { overrides: { promptText: 'Answer in verse.' } })
    // A run by the id alone has no overrides.
    const refused = await agent.run('Pay again.', { sessionId: ended })
    expect(refused).toMatchObject({ status: 'failed', error: { code: 'override-not-offered' } })
    expect(await entriesOf(store, fork)).toEqual(before)
    expect(await answeredBy(agent, store, fork)).toContain('paid')
  })

  test('replaces the policy also in the agents of handoffs and in children', async () => {
    const store = memoryStore()
    const toClerk = scriptedModel(
      [
        ({ messages }) => {
          const results = messages.filter(({ role }) => role === 'tool').length
          if (results === 0) return { toolCalls: [{ name: 'ask_clerk', input: { task: 'Pay the bill.' } }] }
          return { toolCalls: [{ name: 'transfer_to_clerk', input: {} }] }
        },
      ],
      { after: 'repeat-last' },
    )
    const deskWith = (): Agent => {
      const clerk = clerkOf(store, { extensions: [named('The policy of the clerk denies payments.')] })
      const asks = clerk.toTool({ name: 'ask_clerk', description: 'Asks the clerk.' })
      const options = { name: 'desk', model: toClerk, store, tools: [asks], extensions: [ownPolicy] }
      return createAgent({ ...options, handoffs: [handoff(clerk)] })
    }
    const { sessionId } = await deskWith().run('Pay the bill.')
    const said = async (id: string): Promise<string> => JSON.stringify(await entriesOf(store, id))
    expect(await said(sessionId)).toContain('own policy')
    const { offset = 0 } = (await entriesOf(store, sessionId)).find(({ type }) => type === 'message') ?? {}
    const fork = await forkSession(store, sessionId, {
      ...{ at: offset, unfinished: 'continue', overrides: { policy: 'lax' } },
    })
    await answeredBy(deskWith(), store, fork.sessionId)
    const log = await said(fork.sessionId)
    expect(log.match(/paid/gu)?.length).toBeGreaterThan(1)
    expect(log).not.toMatch(/polic(?:y|ies)[^"]* den/u)
  })

  test('needs no acceptance of its instructions, and later changes of them do', async () => {
    const { store, id } = await recorded({ whenChanged: 'refuse' })
    const fork = await forked(store, id, { prompt: 'brief' })
    const agent = clerkOf(store, { whenChanged: 'refuse' })
    const opened = foldLog(await entriesOf(store, fork))
    expect(await agent.changeSince(opened, { overrides: offers })).toBeUndefined()
    const more = tool({ name: 'more', input: { type: 'object' }, effect: 'read', execute: () => 'more' })
    const other = clerkOf(store, { whenChanged: 'refuse', tools: [pay, more] })
    expect(await answeredBy(other, store, fork)).toBe('definition-changed')
    const session = await agent.resumeSession(fork, { overrides: offers })
    const stream = session.resume()
    for await (const { type } of stream) if (type === 'step.start') await stream.abort({ onPendingApprovals: 'hold' })
    const resumed = foldLog(await entriesOf(store, fork))
    const edited = { ...offers, prompts: { brief: 'Answer in two words.' } }
    expect(await agent.changeSince(resumed, { overrides: edited })).toMatchObject({
      instructions: true,
      rule: 'refuse',
    })
    expect(await agent.changeSince(resumed, { overrides: offers })).toBeUndefined()
  })

  test('rejects overrides that are no names, and offers that are no policies', async () => {
    const { store, id, agent } = await recorded()
    for (const overrides of [
      { policy: '' },
      { prompt: 'brief', promptText: 'Answer in verse.' },
      { promptText: 'x'.repeat(100_001) },
    ]) {
      await expect(forkSession(store, id, { overrides })).rejects.toMatchObject({ code: 'invalid-option' })
    }
    const unknown: object = { overrides: { model: 'x' } }
    await expect(forkSession(store, id, unknown)).rejects.toMatchObject({ code: 'unknown-option' })
    const wrong: object = { overrides: { policies: { lax: 'allow' } } }
    await expect(agent.resumeSession(id, wrong)).rejects.toMatchObject({ code: 'invalid-option' })
  })
})
