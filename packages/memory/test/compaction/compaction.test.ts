import { createAgent } from '@provost/agent'
import type { Message, View } from '@provost/core'
import { textOf } from '@provost/core'
import { compaction } from '@provost/memory'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import type { ScriptedStep } from '@provost/testing'
import { describe, expect, it } from 'vitest'

import {
  compactions,
  confidentialityOf,
  entriesOf,
  fetchPage,
  isSummaryRequest,
  looker,
  outline,
  pay,
  page,
  scene,
  watch,
  words,
} from '../fixture/compaction-scenario.ts'

/** Turns of about 200 tokens. */
async function talk(agent: ReturnType<typeof scene>['agent'], turns: number, sessionId: string): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await agent.run(`${words(180)} turn ${turn}`, { sessionId })
}

describe('compaction', () => {
  it('leaves a context below the threshold unchanged', async () => {
    const { agent, views, summaries } = scene({ window: 10_000 }, [{ text: 'ok' }])
    await talk(agent, 5, 's')
    expect(views.at(-1)?.messages).toHaveLength(9)
    expect(summaries).toEqual([])
  })

  it('replaces old messages by a summary and keeps recent ones unchanged', async () => {
    const store = memoryStore()
    const { agent, asked, summaries, views } = scene({ window: 2000, keepRecent: 500 }, [{ text: 'ok' }], {
      store,
      sum: { text: 'They counted turns.' },
    })
    await talk(agent, 9, 's')
    expect(summaries.length).toBeGreaterThan(0)
    const { events, result } = await watch(agent.stream('last', { sessionId: 's' }))
    expect(compactions(events)).toEqual([])
    const view = views.at(-1)?.messages ?? []
    expect(textOf(view[0] ?? { content: [] })).toContain('They counted turns.')
    expect(textOf(view.at(-1) ?? { content: [] })).toBe('last')
    expect(asked.at(-1)?.messages[0]).toMatchObject({ role: 'system', content: 'You help.' })
    // The log keeps the replaced messages.
    expect(result.status).toBe('completed')
    const entries = await entriesOf(store, 's')
    expect(entries.filter(({ type }) => type === 'message')).toHaveLength(20)
    const cuts = entries.filter((entry) => entry.type === 'view')
    expect(cuts).toHaveLength(1)
    expect(cuts[0]).toMatchObject({ reason: 'compaction', compacted: { source: 'step' } })
  })

  it('reports its tokens before and after, the summary, the hooks and the source', async () => {
    const { agent } = scene({ window: 2000, keepRecent: 500, pinned: ['Be brief.'] }, [{ text: 'ok' }])
    await talk(agent, 7, 's')
    let seen: readonly unknown[] = []
    for (let turn = 0; turn < 3 && seen.length === 0; turn++) {
      seen = compactions((await watch(agent.stream(words(200), { sessionId: 's' }))).events)
    }
    expect(seen).toMatchObject([{ type: 'context.compacted', source: 'step', hooksFired: ['pinned', 'instructions'] }])
    const [{ beforeTokens, afterTokens, summaryTokens, durationMs }] = [Object(seen[0])]
    expect(beforeTokens).toBeGreaterThanOrEqual(1700)
    expect(afterTokens).toBeLessThan(1700 * 0.9)
    expect(summaryTokens).toBeGreaterThan(10)
    expect(durationMs).toBeGreaterThanOrEqual(0)
  })

  it('clears old results before it calls the summariser; calls keep their results and labels', async () => {
    const calls = Array.from({ length: 12 }, () => ({ toolCalls: [page(300)] }))
    const { agent, summaries, views } = scene({ window: 4000 }, [...calls, { text: 'done' }])
    const { status } = await agent.run('Read all pages.')
    expect([status, summaries.length]).toEqual(['completed', 0])
    const cleared = views.at(-1)?.messages.filter((message) => outline([message])[0]?.startsWith('tool: "[result of 3'))
    expect(cleared?.length).toBeGreaterThan(3)
    for (const message of cleared ?? []) {
      expect(message.label).toMatchObject({ integrity: 'untrusted', sources: ['fetch_page'] })
      expect(message.content[0]?.label).toMatchObject({ integrity: 'untrusted', sources: ['fetch_page'] })
    }
    expect(outline(views.at(-1)?.messages ?? [])[0]).toBe('user: Read all pages.')
  })

  it('keeps the latest request verbatim when the run is longer than the window', async () => {
    const calls = Array.from({ length: 30 }, (_, at) => ({ text: `${words(150)} ${at}`, toolCalls: [page(20)] }))
    const { agent, views, summaries } = scene({ window: 3000, keepRecent: 600 }, [...calls, { text: 'done' }])
    const request = `Read order 4711 and nothing else. ${words(100, 'please')}`
    expect((await agent.run(request)).status).toBe('completed')
    expect(summaries.length).toBeGreaterThan(1)
    for (const { messages, tokens, overhead } of views) {
      expect(messages.filter((message) => textOf(message) === request)).toHaveLength(1)
      expect(tokens + overhead).toBeLessThanOrEqual(3000)
    }
  })

  it('summarises an earlier summary with the messages after it', async () => {
    const { agent, summaries } = scene({ window: 1500, keepRecent: 300 }, [{ text: 'ok' }], {
      sum: (_, index) => ({ text: `Summary number ${index}.` }),
    })
    await talk(agent, 30, 's')
    expect(summaries.length).toBeGreaterThan(2)
    const later = summaries
      .map(({ messages }) => JSON.stringify(messages))
      .findLast((text) => text.includes('[earlier summary]'))
    expect(later).toMatch(/\[earlier summary\].*Summary number \d+\./)
    expect(later).not.toContain('turn 0')
  })

  it('repeats identifiers verbatim', async () => {
    const { agent, views } = scene({ window: 1500, keepRecent: 200 }, [{ text: 'ok' }])
    await agent.run('Order AB-4711-x, mail ann@example.com, see https://example.com/a?b=1.', { sessionId: 's' })
    await talk(agent, 30, 's')
    const [first] = views.at(-1)?.messages ?? []
    for (const id of ['AB-4711-x', 'ann@example.com', 'https://example.com/a?b=1']) {
      expect(textOf(first ?? { content: [] })).toContain(id)
    }
  })

  it('accepts a custom strategy that keeps and writes messages', async () => {
    const keepLast = {
      name: 'keep-last',
      compact: ({ messages, recent }: { messages: readonly Message[]; recent: number }) => [
        { content: 'Something was said.' },
        ...messages.slice(recent),
      ],
    }
    const { agent, views, summaries } = scene({ window: 1500, keepRecent: 300, strategy: keepLast }, [{ text: 'ok' }])
    await talk(agent, 8, 's')
    expect(summaries).toEqual([])
    expect(outline(views.at(-1)?.messages ?? [])[0]).toBe('user: Something was said.')
  })

  it('uses a window per model from the configuration or from the model', async () => {
    const { agent, views } = scene({ window: { 'scripted/scripted-model': 1500 } }, [{ text: 'ok' }])
    await talk(agent, 10, 's')
    expect(views.at(-1)?.tokens).toBeLessThan(1500)
    const other = scene({ window: { 'other/model': 1500 } }, [{ text: 'ok' }])
    await talk(other.agent, 10, 's')
    expect(other.views.at(-1)?.tokens).toBeGreaterThan(1500)
  })

  it('counts the cost of its summary as a cost of the run', async () => {
    const usage = { inputTokens: 1000, outputTokens: 100 }
    const { agent, summaries } = scene({ window: 4000, keepRecent: 300 }, [{ text: 'ok', usage }], {
      sum: { text: 'They talked.', usage: { inputTokens: 700, outputTokens: 70 } },
      prices: { 'scripted/scripted-model': { input: 1, output: 10 } },
    })
    let found
    for (let turn = 0; turn < 10 && !found; turn++) {
      const { events, result } = await watch(agent.stream(words(400), { sessionId: 's' }))
      if (compactions(events).length > 0) found = result
    }
    const calls = summaries.length
    expect(calls).toBeGreaterThan(0)
    expect(found?.usage).toMatchObject({ inputTokens: 1000 + 700 * calls, outputTokens: 100 + 70 * calls })
    expect(found?.cost).toBeCloseTo(0.002 + 0.0014 * calls)
  })

  it('rejects invalid options at once', () => {
    expect(() => compaction({ threshold: 2 })).toThrow(/threshold/)
    expect(() => compaction({ window: Number.NaN })).toThrow(/window/)
    expect(() => compaction({ strategy: [] })).toThrow(/strategy/)
  })
})

describe('a manual compaction', () => {
  it('compacts a session between its runs, for every later opener', async () => {
    const store = memoryStore()
    const { agent, summaries, views } = scene({ window: 100_000 }, [{ text: 'ok' }], { store })
    const session = await agent.createSession({ id: 's' })
    const seen: unknown[] = []
    session.on(
      'context.compacted',
      ({ source, afterTokens, beforeTokens }) => void seen.push([source, afterTokens < beforeTokens]),
    )
    for (let turn = 0; turn < 6; turn++) {
      session.send(words(200))
      await session.waitForIdle()
    }
    const before = session.usage.inputTokens
    await session.compact()
    expect(seen).toEqual([['manual', true]])
    expect(summaries).toHaveLength(1)
    // The summary has a cost although its provider reports no usage.
    expect(session.usage.inputTokens).toBeGreaterThan(before ?? 0)
    expect(session.status).toBe('idle')
    await session.close()
    const again = await agent.resumeSession('s')
    expect(again.messages[0] && textOf(again.messages[0])).toContain('Summary of the earlier conversation')
    again.send('and?')
    await again.waitForIdle()
    expect(views.at(-1)?.messages.length).toBeLessThan(10)
  })

  it('compacts a run in progress before its next model call', async () => {
    const { agent, summaries, views } = scene({ window: 100_000 }, [
      ...Array.from({ length: 5 }, () => ({ text: words(100), toolCalls: [page(100)] })),
      { text: 'done' },
    ])
    const session = await agent.createSession({})
    let asked: Promise<void> | undefined
    session.on('step.end', ({ step }) => {
      if (step === 4) asked = session.compact()
    })
    session.send('Go.')
    await session.waitForIdle()
    await asked
    expect(summaries).toHaveLength(1)
    expect(views[4]?.tokens).toBeLessThan(views[3]?.tokens ?? 0)
    expect(outline(views[4]?.messages ?? [])[0]).toBe('user: [Summary of the earlier ')
  })

  it('keeps the approval wait of a suspended run, which then resumes', async () => {
    const { agent, summaries } = scene(
      { window: 100_000 },
      [
        ...Array.from({ length: 5 }, () => ({ text: words(100), toolCalls: [page(100)] })),
        { toolCalls: [{ name: 'pay', input: {} }] },
        { text: 'paid' },
      ],
      { tools: [fetchPage, pay] },
    )
    const session = await agent.createSession({})
    session.send('Go.')
    await session.waitForIdle()
    expect(session.pending.approvals).toHaveLength(1)
    await session.compact()
    expect(summaries).toHaveLength(1)
    expect(session.status).toBe('suspended')
    const [approval] = session.pending.approvals
    await session.resolve({ approvals: [{ id: approval?.id ?? '', decision: 'approve' }] })
    expect((await session.waitForIdle())?.text).toBe('paid')
  })

  it('reports a failed summariser and changes nothing', async () => {
    const { agent } = scene({ window: 100_000 }, [{ text: 'ok' }], { sum: { error: new Error('down') } })
    const session = await agent.createSession({})
    for (let turn = 0; turn < 4; turn++) {
      session.send(words(200))
      await session.waitForIdle()
    }
    const before = [...session.messages]
    await expect(session.compact()).rejects.toMatchObject({ code: 'summary-failed' })
    expect([...session.messages]).toEqual(before)
    session.send('and?')
    expect((await session.waitForIdle())?.status).toBe('completed')
  })

  it('does nothing without old messages', async () => {
    const { agent, summaries } = scene({ window: 100_000 }, [{ text: 'ok' }])
    const session = await agent.createSession({})
    await session.compact()
    session.send('hi')
    await session.waitForIdle()
    await session.compact()
    expect([summaries.length, session.messages.length]).toEqual([0, 2])
  })
})

describe('confidential history', () => {
  const secret = { role: 'user', content: words(300), label: { confidentiality: 'secret' } } as const

  it('is summarised by a model with clearance; the summary stays secret', async () => {
    const { agent, views, summaries } = scene({ window: 1500, keepRecent: 300 }, [{ text: 'ok' }])
    await agent.run([secret], { sessionId: 's' })
    await talk(agent, 7, 's')
    expect(summaries.length).toBeGreaterThan(0)
    expect(confidentialityOf(views.at(-1)?.messages[0])).toBe('secret')
  })

  it('never reaches a summariser without clearance: the run continues while it fits, then fails with the reason', async () => {
    const given: string[] = []
    const summarize = ({ transcript }: { transcript: string }) => {
      given.push(transcript)
      return 'short'
    }
    const { agent, views } = scene({ window: 1500, keepRecent: 300, summarize }, [{ text: 'ok' }])
    await agent.run([secret], { sessionId: 's' })
    let last
    for (let turn = 0; turn < 12 && last?.status !== 'failed'; turn++) {
      last = await agent.run(words(150), { sessionId: 's' })
    }
    expect(last).toMatchObject({ status: 'failed', error: { code: 'context-clearance-denied' } })
    expect(given).toEqual([])
    for (const { tokens, overhead } of views) expect(tokens + overhead).toBeLessThanOrEqual(1500)
  })
})

it('a run after a handoff fits the window of the next model', async () => {
  const names = ['big/model', 'small/model']
  const views: View[] = []
  const modelOf = (name: string, steps: readonly ScriptedStep[]) => {
    const [provider = '', modelId = ''] = name.split('/')
    let at = 0
    return scriptedModel(
      [(prompt) => (isSummaryRequest(prompt) ? { text: 'They read pages.' } : (steps[at++] ?? { text: 'done' }))],
      { provider, modelId, after: 'repeat-last' },
    )
  }
  const shared = { tools: [fetchPage], settings: { maxRetries: 0 } }
  const window = { 'big/model': 20_000, 'small/model': 2500 }
  const extensions = [compaction({ window, keepRecent: 400 }), looker(views)]
  const second = createAgent({
    ...shared,
    name: 'second',
    description: 'Goes on.',
    model: modelOf('small/model', [{ text: words(100), toolCalls: [page(200)] }]),
    extensions,
  })
  const work = Array.from({ length: 8 }, () => ({ text: words(300), toolCalls: [page(300)] }))
  const first = createAgent({
    ...shared,
    name: 'first',
    model: modelOf('big/model', [...work, { toolCalls: [{ name: 'transfer_to_second', input: {} }] }]),
    extensions,
    handoffs: [second],
  })
  const request = 'Read the pages of order 4711.'
  const { events, result } = await watch(first.stream(request))
  expect(result).toMatchObject({ status: 'completed', text: 'done' })
  expect(compactions(events).length).toBeGreaterThan(0)
  expect([...new Set(views.map(({ model }) => model))]).toEqual(names)
  const taken = views.filter(({ model }) => model === 'small/model')
  for (const { label } of taken) expect(label).toMatchObject({ integrity: 'untrusted', sources: ['fetch_page'] })
  for (const { messages, model, tokens, overhead } of views) {
    expect(tokens + overhead).toBeLessThanOrEqual(model === 'small/model' ? 2500 : 20_000)
    expect(messages.filter((message) => textOf(message) === request)).toHaveLength(1)
  }
})
