import { createAgent } from '@provost/agent'
import type { Extension, Hooks, Message, SessionStore } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import { assertWellFormed, scriptedModel } from '@provost/testing'
import type { ScriptedStep } from '@provost/testing'
import { describe, expect, it } from 'vitest'

import { echo, entriesOfType, extension, failure, only, say, transcript, watch } from '../hooks/hook-scenario.ts'

function onContext(hook: NonNullable<Hooks['context']>): Extension {
  return extension('cut', { context: hook })
}

const figures = {
  beforeTokens: 9,
  afterTokens: 1,
  summaryTokens: 1,
  durationMs: 0,
  hooksFired: [],
  source: 'manual',
} as const

/** Replaces the first message when it is asked to by hand. */
const byHand = onContext(({ messages: [first], trigger }) =>
  trigger === 'manual' && first
    ? { from: first.id, to: first.id, with: [{ content: 'so far' }], compacted: figures }
    : undefined,
)

function agentOf(
  extensions: readonly Extension[],
  steps: readonly ScriptedStep[] = [{ text: 'ok' }],
  store = memoryStore(),
) {
  return createAgent({
    name: 'a',
    model: scriptedModel(steps, { after: 'repeat-last' }),
    tools: [echo],
    store,
    extensions,
  })
}

async function idsIn(store: SessionStore): Promise<readonly string[]> {
  const ids: string[] = []
  for await (const { id } of store.list()) ids.push(id)
  return ids
}

describe('agent.compact()', () => {
  it('compacts a session, one of the store, or a history of no session, and returns what the model sees', async () => {
    const store = memoryStore()
    const agent = agentOf([byHand], undefined, store)
    const session = await agent.createSession({})
    session.send('one')
    await session.waitForIdle()
    const short = ['user: so far', 'assistant: ok']
    expect(transcript(await agent.compact(session))).toEqual(short)
    expect(transcript(session.messages)).toEqual(short)
    const other = await agent.run('two')
    expect(transcript(await agent.compact(other.sessionId))).toEqual(short)
    expect(transcript((await agent.resumeSession(other.sessionId)).messages)).toEqual(short)
    const rows = await idsIn(store)
    const history = [
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: 'ok' },
    ] as const
    expect(transcript(await agent.compact(history))).toEqual(short)
    expect(await idsIn(store), 'the store of the agent keeps nothing of it').toEqual(rows)
  })

  it.each<[string, unknown, string]>([
    ['an unknown id', 'nowhere', 'unknown-session'],
    ['nothing', undefined, 'invalid-input'],
    ['a number', 1, 'invalid-input'],
    ['an empty object', {}, 'invalid-input'],
    ['a list of numbers', [1], 'invalid-input'],
  ])('refuses %s', async (_, value, expected) => {
    const { compact }: { readonly compact: (value: never) => Promise<unknown> } = agentOf([byHand])
    await expect(compact(value as never)).rejects.toMatchObject({ code: expected, hint: expect.any(String) })
  })
})

describe('session.compact()', () => {
  it('lets the context hooks cut the view between runs; the event comes with the entry', async () => {
    const store = memoryStore()
    const session = await agentOf([byHand], undefined, store).createSession({})
    const seen: unknown[] = []
    session.on('context.compacted', ({ source, runId }) => void seen.push([source, runId]))
    session.send('one')
    await session.waitForIdle()
    await session.compact()
    expect(seen).toEqual([['manual', session.id]])
    expect(transcript(session.messages)).toEqual(['user: so far', 'assistant: ok'])
    session.send('two')
    await session.waitForIdle()
    expect(transcript(session.messages)).toEqual(['user: so far', 'assistant: ok', 'user: two', 'assistant: ok'])
    const again = await agentOf([byHand], undefined, store).resumeSession(session.id)
    expect(transcript(again.messages)).toEqual(transcript(session.messages))
  })

  it('waits for the next model call of a run in progress, and for a run that starts none', async () => {
    const store = memoryStore()
    const agent = agentOf([byHand], [{ toolCalls: [say('x')] }, { text: 'done' }], store)
    const session = await agent.createSession({})
    const asked: Promise<void>[] = []
    session.on('step.start', () => void asked.push(session.compact()))
    session.send('go')
    await session.waitForIdle()
    await Promise.all(asked)
    expect(asked).toHaveLength(2)
    assertWellFormed(session.messages)
    expect(transcript(session.messages).at(0)).toBe('user: so far')
  })

  it('has hooks that fail fail it, and not the run', async () => {
    const broken = onContext(({ trigger }) => {
      if (trigger === 'manual') throw new Error('no summary')
    })
    const session = await agentOf([broken], [{ toolCalls: [say('x')] }, { text: 'done' }]).createSession({})
    let asked: Promise<unknown> | undefined
    session.on('step.start', () => void (asked ??= session.compact().catch((error: unknown) => error)))
    session.send('go')
    expect((await session.waitForIdle())?.status).toBe('completed')
    expect(await asked).toMatchObject({ code: 'hook-failed' })
    await expect(session.compact()).rejects.toMatchObject({ code: 'hook-failed' })
    expect(transcript(session.messages)[0]).toBe('user: go')
  })

  it('is given up with the session', async () => {
    const stalling = onContext(
      (_, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(new Error('aborted')))
        }),
    )
    const session = await agentOf([stalling]).createSession({ messages: [{ role: 'user', content: 'hi' }] })
    const asked = session.compact()
    asked.catch(() => {})
    await Promise.resolve()
    const settled = asked.then(
      () => 'done',
      (error: unknown) => error,
    )
    while (!(await Promise.race([settled, new Promise((resolve) => setTimeout(resolve, 1))]))) await session.abort()
    expect(await settled).toMatchObject({ code: expect.stringMatching(/abort/) })
    expect(session.status).toBe('idle')
  })

  it('needs a compactor', async () => {
    const session = await agentOf([]).createSession({})
    await expect(session.compact()).rejects.toMatchObject({ code: 'no-compactor' })
  })

  it('is refused while another process has the session, and by one that is closed', async () => {
    const store = memoryStore()
    const session = await agentOf([byHand], undefined, store).createSession({})
    const lease = await store.lease(session.id, 'other', 1000)
    await expect(session.compact()).rejects.toMatchObject({ code: 'session-busy' })
    if (lease !== 'busy') await store.release(session.id, lease.fence)
    await session.close()
    await expect(session.compact()).rejects.toMatchObject({ code: 'session-closed' })
  })
})

describe('what a context hook may answer', () => {
  const two: readonly ScriptedStep[] = [{ toolCalls: [say('a')] }, { text: 'done' }]

  it('a stop ends the run with its code', async () => {
    const full = onContext((_, ctx) => (ctx.run.step === 2 ? ctx.stop('too-long', 'It does not fit.') : undefined))
    const { result } = await watch(agentOf([full], two).stream('go'))
    expect(failure(result)).toMatchObject({ code: 'too-long', message: 'It does not fit.' })
  })

  it('figures make a compaction of an edit: they are in the log and in an event', async () => {
    const cut = onContext(({ messages }, { run }) => {
      const [first] = messages
      if (run.step !== 2 || !first) return undefined
      return { from: first.id, to: first.id, with: [{ content: 'x' }], compacted: { ...figures, source: 'step' } }
    })
    const store = memoryStore()
    const { events, result } = await watch(agentOf([cut], two, store).stream('go'))
    expect(only(events, 'context.compacted')).toMatchObject([{ ...figures, source: 'step' }])
    expect(await entriesOfType(store, result, 'view')).toMatchObject([
      { reason: 'compaction', compacted: { source: 'step' } },
    ])
  })

  it('a message of the stretch stays what it is; one with other content keeps id, role, call and label', async () => {
    let before: readonly Message[] = []
    const cut = onContext(({ messages }, { run }) => {
      if (run.step !== 2) return undefined
      before = messages
      const [first, call, result] = messages
      if (!first || !call || !result) return undefined
      const content = result.content.map((part) =>
        part.type === 'tool-result' ? { ...part, output: { type: 'text' as const, value: 'gone' } } : part,
      )
      return { from: first.id, to: result.id, with: [first, call, { ...result, content }] }
    })
    const session = await agentOf([cut], two).createSession({})
    session.send('go')
    await session.waitForIdle()
    const [first, call, result] = session.messages
    expect([first, call]).toEqual(before.slice(0, 2))
    expect(result).toMatchObject({ id: before[2]?.id, role: 'tool', label: before[2]?.label })
    expect(result?.content).toMatchObject([{ output: { value: 'gone' } }])
    assertWellFormed(session.messages)
  })

  it('none of them twice, nor half of a pair', async () => {
    for (const pick of [
      [0, 1],
      [0, 2],
      [0, 2, 1],
    ]) {
      const cut = onContext(({ messages }, { run }) => {
        const [from, to] = [messages[0], messages[2]]
        const kept = pick.flatMap((at) => messages[at] ?? [])
        return run.step === 2 && from && to ? { from: from.id, to: to.id, with: kept } : undefined
      })
      const { result } = await watch(agentOf([cut], two).stream('go'))
      expect(failure(result).code).toBe('hook-failed')
    }
  })
})

describe('what a context hook sees of the size', () => {
  it('is the model, its window where it is known, and what is sent beside the messages', async () => {
    const seen: unknown[] = []
    const look = onContext(
      ({ model, window, overhead, tokens }) => void seen.push([model, window, overhead > 20, tokens > 0]),
    )
    const known = scriptedModel([{ text: 'ok' }], { provider: 'anthropic', modelId: 'claude-haiku-4-5' })
    await createAgent({ name: 'a', model: known, instructions: 'You help.', tools: [echo], extensions: [look] }).run(
      'go',
    )
    await agentOf([look]).run('go')
    expect(seen).toEqual([
      ['anthropic/claude-haiku-4-5', 200_000, true, true],
      ['scripted/scripted-model', undefined, true, true],
    ])
  })
})

it('a model call of a hook takes settings and a signal of its own', async () => {
  const seen: unknown[] = []
  const aside = extension('aside', {
    'model.request': async (_, ctx) => {
      const own = AbortSignal.timeout(1)
      await new Promise((resolve) => own.addEventListener('abort', resolve))
      const given = await ctx.generate({ prompt: 'x', settings: { maxOutputTokens: 7 } })
      seen.push(given.text)
      await ctx.generate({ prompt: 'x', signal: own }).catch((error: unknown) => seen.push(error instanceof Error))
    },
  })
  const model = scriptedModel([({ options }) => ({ text: `${options.maxOutputTokens}` })], { after: 'repeat-last' })
  const { text } = await createAgent({ name: 'a', model, extensions: [aside] }).run('go')
  expect([seen, text]).toEqual([['7', true], 'undefined'])
})
