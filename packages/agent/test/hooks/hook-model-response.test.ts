import { createAgent } from '@provost/agent'
import type { AgentOptions } from '@provost/agent'
import type { AgentEvent, Extension, Hooks, Message, RunResult } from '@provost/core'
import { textOf } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import { assertWellFormed, scriptedModel } from '@provost/testing'
import type { ScriptedPrompt, ScriptedStep } from '@provost/testing'
import { describe, expect, it, vi } from 'vitest'
import { z } from 'zod'

import {
  askedModel,
  echo,
  entriesOfType,
  extension,
  failure,
  lines,
  only,
  outside,
  reported,
  say,
  transcript,
  typesOf,
  watch,
} from './hook-scenario.ts'

function onResponse(name: string, hook: NonNullable<Hooks['model.response']>): Extension {
  return extension(name, { 'model.response': hook })
}
const hold = extension('hold', { 'model.request': () => ({ hold: 'all' }) })

function agentOf(steps: readonly ScriptedStep[], extensions: readonly Extension[], more: Partial<AgentOptions> = {}) {
  return createAgent({ name: 'a', model: scriptedModel(steps), tools: [echo], ...more, extensions })
}

describe('model.response', () => {
  it('judges each answer before it counts, in the order of extensions', async () => {
    const seen: string[] = []
    const look = (name: string): Extension =>
      onResponse(
        name,
        (message, { run }) => void seen.push(`${name} ${run.step}: ${textOf(message)} ${message.content.length}`),
      )
    await agentOf([{ text: 'let me see', toolCalls: [say('x')] }, { text: 'done' }], [look('one'), look('two')]).run(
      'go',
    )
    expect(seen).toEqual(['one 1: let me see 2', 'two 1: let me see 2', 'one 2: done 1', 'two 2: done 1'])
  })

  it('sees the message with its label: the join of what it was produced from', async () => {
    const labels: unknown[] = []
    await agentOf(
      [{ toolCalls: [say('x')] }, { text: 'done' }],
      [onResponse('look', ({ label }) => void labels.push(label))],
    ).run('go')
    expect(labels).toMatchObject([{ integrity: 'trusted' }, outside('echo')])
  })

  it('does not see attempts that failed', async () => {
    const hook = vi.fn()
    await agentOf(
      [{ text: 'half', failAfterChunks: 1 }, { text: 'whole' }],
      [onResponse('look', hook), extension('again', { 'model.error': () => ({ retryAfterMs: 0 }) })],
    ).run('go')
    expect(hook.mock.calls.map(([message]) => textOf(message))).toEqual(['whole'])
  })
})

describe('a message in place of the answer', () => {
  const censor = onResponse('censor', (message) => ({
    message: { content: textOf(message).replaceAll('damn', '****') },
  }))

  it('is what counts: in the history, the result and the next prompt; the later judge it', async () => {
    const asked: ScriptedPrompt[] = []
    const seen: string[] = []
    const agent = agentOf([], [censor, onResponse('after', (message) => void seen.push(textOf(message)))], {
      model: askedModel(asked, [{ text: 'damn it' }, { text: 'done' }]),
    })
    const { text, sessionId } = await agent.run('go')
    await agent.run('on', { sessionId })
    expect(text).toBe('**** it')
    expect(seen).toEqual(['**** it', 'done'])
    expect(lines(asked[1] ?? { messages: [] })).toEqual(['user: go', 'assistant: **** it', 'user: on'])
  })

  it('keeps the label of the answer where it brings none of its own', async () => {
    const relabel = onResponse('relabel', (_message, { run }) => ({
      message: { content: 'x', ...(run.step === 2 && { label: { confidentiality: 'secret' } }) },
    }))
    const { messages } = await agentOf([{ text: 'a' }], [relabel]).run('go')
    expect(messages[1]?.label).toEqual({ integrity: 'trusted', confidentiality: 'internal', sources: [] })
    const untrusted = await agentOf(
      [{ toolCalls: [say('x')] }, { text: 'b' }],
      [
        onResponse('relabel', (message, { run }) =>
          run.step === 2 ? { message: { content: textOf(message), label: { confidentiality: 'secret' } } } : undefined,
        ),
      ],
    ).run('go')
    expect(untrusted.messages.at(-1)?.label).toEqual({ ...outside('echo'), confidentiality: 'secret' })
  })

  it('may take calls away: they are neither run nor shown', async () => {
    const noCalls = onResponse('no-calls', () => ({ message: { content: 'I would rather not.' } }))
    const { events, result } = await watch(
      agentOf([{ text: 'Sure', toolCalls: [say('x')] }], [hold, noCalls]).stream('go'),
    )
    expect(result).toMatchObject({ status: 'completed', text: 'I would rather not.' })
    expect(typesOf(events).filter((type) => type.startsWith('tool.'))).toEqual([])
    expect(only(events, 'text.end')).toMatchObject([{ text: 'I would rather not.' }])
  })

  it('may take calls away and leave the words as they were', async () => {
    const noCalls = onResponse('no-calls', (message) => ({ message: { content: textOf(message) } }))
    const { events } = await watch(agentOf([{ text: 'Sure', toolCalls: [say('x')] }], [hold, noCalls]).stream('go'))
    expect(typesOf(events).filter((type) => type.startsWith('tool.'))).toEqual([])
    expect(only(events, 'text.end')).toMatchObject([{ text: 'Sure' }])
  })

  it('that was held back is all that listeners get', async () => {
    const { events } = await watch(agentOf([{ text: ['da', 'mn'] }], [hold, censor]).stream('go'))
    expect(only(events, 'text.delta').map(({ delta }) => delta)).toEqual(['****'])
    expect(only(events, 'text.end')).toMatchObject([{ text: '****' }])
    expect(JSON.stringify(events).includes('damn')).toBe(false)
  })
})

describe('repair of what was held back', () => {
  const curt = onResponse('curt', (message) =>
    textOf(message).includes('damn') ? { repair: 'Without swearing.' } : undefined,
  )

  it('shows the rejected response to the model alone', async () => {
    const prompts: ScriptedPrompt[] = []
    const model = scriptedModel([
      { text: ['da', 'mn it'], toolCalls: [say('damn')] },
      { text: 'damn' },
      (prompt: ScriptedPrompt) => {
        prompts.push(prompt)
        return { text: 'oh dear' }
      },
    ])
    const { events, result } = await watch(agentOf([], [hold, curt], { model }).stream('go'))
    expect(result).toMatchObject({ status: 'completed', text: 'oh dear' })
    expect(JSON.stringify([events, result.messages, result.text])).not.toContain('damn')
    expect(only(events, 'text.delta').map(({ delta }) => delta)).toEqual(['oh dear'])
    expect(JSON.stringify(prompts)).toContain('damn')
  })

  it('hides the results of its calls as well: no message and no event has them', async () => {
    const prompts: ScriptedPrompt[] = []
    const model = askedModel(prompts, [{ text: 'damn', toolCalls: [say('x'), say('y')] }, { text: 'oh dear' }])
    const { events, result } = await watch(agentOf([], [hold, curt], { model }).stream('go'))
    expect(lines(prompts[1] ?? { messages: [] }).at(-1)).toBe(
      'tool: [echo → Without swearing.] [echo → Without swearing.]',
    )
    expect(transcript(result.messages)).toEqual(['user: go', 'assistant: oh dear'])
    assertWellFormed(result.messages)
    const shown = only(events, 'message.end').map(({ message }) => message)
    expect(shown.map(({ role }) => role)).not.toContain('tool')
  })

  it('nor does a run say it that ends with it', async () => {
    const agent = agentOf([{ text: 'damn' }], [hold, curt], { maxSteps: 1 })
    const { events, result } = await watch(agent.stream('go'))
    expect(result).toMatchObject({ status: 'failed', text: '' })
    expect(JSON.stringify([events, result.messages])).not.toContain('damn')
  })
})

describe('repair', () => {
  const short = onResponse('short', (message) => (textOf(message).length > 4 ? { repair: 'Be brief.' } : undefined))

  it('tells the model what is wrong and asks again; both stand in the history', async () => {
    const asked: ScriptedPrompt[] = []
    const agent = agentOf([], [short], { model: askedModel(asked, [{ text: 'Well, you see' }, { text: 'Yes.' }]) })
    const { text, messages } = await agent.run('go')
    expect(text).toBe('Yes.')
    expect(asked.map(lines)[1]).toEqual(['user: go', 'assistant: Well, you see', 'user: Be brief.'])
    expect(transcript(messages)).toEqual(['user: go', 'assistant: Well, you see', 'user: Be brief.', 'assistant: Yes.'])
    assertWellFormed(messages)
  })

  it('is no word of the human', async () => {
    const intents: string[][] = []
    await agentOf(
      [{ text: 'Well, you see' }, { text: 'Yes.' }],
      [short, onResponse('look', (_message, ctx) => void intents.push(ctx.intent.map(textOf)))],
    ).run('go')
    expect(intents).toEqual([['go'], ['go']])
  })

  it('of an answer with calls stands in their results: none of them runs', async () => {
    const asked: ScriptedPrompt[] = []
    const agent = agentOf(
      [],
      [onResponse('calm', (message) => (message.content.length > 2 ? { repair: 'One at a time.' } : undefined))],
      {
        model: askedModel(asked, [{ toolCalls: [say('a'), say('b'), say('c')] }, { text: 'ok' }]),
      },
    )
    const { events, result } = await watch(agent.stream('go'))
    expect(only(events, 'tool.execute.start')).toEqual([])
    expect(lines(asked[1] ?? { messages: [] }).at(-1)).toBe(
      'tool: [echo → One at a time.] [echo → One at a time.] [echo → One at a time.]',
    )
    assertWellFormed(result.messages)
  })

  it('is bounded by the steps of the run', async () => {
    const agent = agentOf([], [onResponse('never', () => ({ repair: 'No.' }))], {
      model: scriptedModel([{ text: 'x' }], { after: 'repeat-last' }),
      maxSteps: 4,
    })
    expect(failure(await agent.run('go')).code).toBe('max-steps')
  })
})

describe('ask', () => {
  const review = onResponse('review', (message) => ({
    ask: { reason: 'goes to a customer', evidence: { words: textOf(message).split(' ').length } },
  }))

  /** Suspended before the answer was released, and the events until then. */
  async function held(
    extensions: readonly Extension[] = [hold, review],
    more: Partial<AgentOptions> = {},
    step: ScriptedStep = { text: ['Dear ', 'Ann'] },
  ) {
    const agent = agentOf([step, { text: 'done' }], extensions, more)
    const { events, result } = await watch(agent.stream('write to Ann'))
    const [approval] = result.pending.approvals
    const decide = (decision: 'approve' | 'deny', reason?: string) =>
      agent.stream(result.state, {
        approvals: [{ id: approval?.id ?? '', decision, ...(reason !== undefined && { reason }) }],
      })
    return { agent, events, result, approval, decide }
  }

  it('holds the answer until a human has seen it', async () => {
    const { result, approval, events } = await held()
    expect(result.status).toBe('suspended')
    expect(result.text).toBe('')
    expect(approval).toMatchObject({
      reason: 'goes to a customer',
      evidence: { words: 2 },
      agent: 'a',
      runPath: [result.runId],
    })
    expect(only(events, 'tool.approval.requested')).toMatchObject([{ id: approval?.id, reason: 'goes to a customer' }])
  })

  it('lets nothing of it out before: no event, no message', async () => {
    const { events, result } = await held()
    expect(JSON.stringify([events, result.messages]).includes('Dear')).toBe(false)
  })

  it('approved, the answer counts and is let out', async () => {
    const { decide } = await held()
    const { events, result } = await watch(decide('approve'))
    expect(result).toMatchObject({ status: 'completed', text: 'Dear Ann' })
    expect(only(events, 'message.end').map(({ message }) => textOf(message))).toContain('Dear Ann')
    expect(only(events, 'tool.approval.resolved')).toMatchObject([{ decision: 'approve' }])
    assertWellFormed(result.messages)
  })

  it('approved in process, too', async () => {
    const agent = agentOf([{ text: ['Dear ', 'Ann'] }], [hold, review])
    const out: AgentEvent[] = []
    let before = ''
    const stream = agent.stream('write', {
      onApproval: () => {
        before = JSON.stringify(out)
        return 'approve'
      },
    })
    for await (const event of stream) out.push(event)
    expect(await stream.result).toMatchObject({ status: 'completed', text: 'Dear Ann' })
    expect(before).toContain('agent.start')
    expect(before).not.toContain('Dear')
    expect(only(out, 'message.end').map(({ message }) => textOf(message))).toEqual(['write', 'Dear Ann'])
  })

  it('denied, the run ends as failed and the answer is in no message', async () => {
    const { decide } = await held()
    const { events, result } = await watch(decide('deny', 'wrong tone'))
    expect(failure(result)).toMatchObject({ code: 'response-denied', message: 'wrong tone' })
    expect(JSON.stringify([events, result.messages]).includes('Dear')).toBe(false)
    assertWellFormed(result.messages)
  })

  it('denied, the run can be resumed: the model answers anew, and both answers were paid for', async () => {
    const { agent, decide } = await held()
    const denied = await decide('deny').result
    const again = await watch(agent.stream(denied.state))
    expect(again.result.status).toBe('suspended')
    const [approval] = again.result.pending.approvals
    const end = await agent.run(again.result.state, { approvals: [{ id: approval?.id ?? '', decision: 'approve' }] })
    expect(end).toMatchObject({ status: 'completed', text: 'done' })
    const attempts = (end.state.entries ?? []).filter(({ type }) => type === 'attempt')
    expect(attempts).toMatchObject([{ attempt: 1 }, { attempt: 2 }])
  })

  it('denied, neither the answer nor its calls reach the next run of the session', async () => {
    const prompts: ScriptedPrompt[] = []
    const model = askedModel(prompts, [{ text: 'Dear Ann', toolCalls: [say('Ann')] }, { text: 'Hello.' }])
    const sends = onResponse('review', ({ content }) => (content.length > 1 ? { ask: { reason: 'sends' } } : undefined))
    const session = await agentOf([], [hold, sends], { model, store: memoryStore() }).createSession({ id: 's' })
    session.send('write to Ann')
    await session.waitForIdle()
    const decisions = session.pending.approvals.map(({ id }) => ({ id, decision: 'deny' as const }))
    expect(decisions).toHaveLength(1)
    await session.resolve({ approvals: decisions })
    await expect(session.waitForIdle()).rejects.toMatchObject({ code: 'response-denied' })
    session.send('greet Bob')
    expect((await session.waitForIdle())?.status).toBe('completed')
    expect(prompts.map(lines)).toEqual([['user: write to Ann'], ['user: write to Ann', 'user: greet Bob']])
  })

  it('expires like any approval', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: 1_000_000 })
    try {
      const { decide } = await held([hold, onResponse('review', () => ({ ask: { reason: 'x', expiresInMs: 5_000 } }))])
      vi.setSystemTime(1_006_000)
      const { events, result } = await watch(decide('approve'))
      expect(result.status).toBe('failed')
      expect(only(events, 'tool.approval.resolved')).toMatchObject([{ decision: 'expired' }])
    } finally {
      vi.useRealTimers()
    }
  })

  it('holds the calls of the answer as well', async () => {
    const { decide, events } = await held(
      [hold, onResponse('review', ({ content }) => (content.length > 1 ? { ask: { reason: 'x' } } : undefined))],
      {},
      { text: 'Looking', toolCalls: [say('x')] },
    )
    expect(only(events, 'tool.execute.start')).toEqual([])
    const { result, events: later } = await watch(decide('approve'))
    expect(only(later, 'tool.execute.start')).toHaveLength(1)
    expect(transcript(result.messages)).toEqual([
      'user: write to Ann',
      'assistant: Looking [echo]',
      'tool: [echo x]',
      'assistant: done',
    ])
  })

  it('does not spare the answer the judgement of the later extensions', async () => {
    const seen: string[] = []
    const later = onResponse('later', (message, ctx) => {
      seen.push(textOf(message))
      return ctx.stop('leak', 'It holds a secret.')
    })
    const agent = agentOf([{ text: 'Dear Ann' }], [hold, review, later])
    expect(failure(await agent.run('write'))).toMatchObject({ code: 'leak' })
    expect(seen).toEqual(['Dear Ann'])
  })

  it('shows what the later extensions have made of the answer', async () => {
    const sign = onResponse('sign', (message) => ({ message: { content: `${textOf(message)}, yours` } }))
    const { decide } = await held([hold, review, sign])
    expect((await decide('approve').result).text).toBe('Dear Ann, yours')
  })

  it('several become one approval', async () => {
    const { result } = await held([hold, review, onResponse('legal', () => ({ ask: { reason: 'legal' } }))])
    expect(result.pending.approvals).toMatchObject([{ reason: 'goes to a customer; legal' }])
  })

  it('does not spare the answer the output schema', async () => {
    const agent = createAgent({
      name: 'a',
      output: z.object({ city: z.string() }),
      model: scriptedModel([{ text: 'Ulm' }, { text: '{"city":"Ulm"}' }]),
      extensions: [hold, review],
    })
    const first = await agent.run('where?')
    expect(first.pending.approvals).toHaveLength(1)
    const result = await agent.run(first.state, {
      approvals: first.pending.approvals.map(({ id }) => ({ id, decision: 'approve' })),
    })
    expect(result).toMatchObject({ status: 'completed', output: { city: 'Ulm' } })
  })
})

describe('stop', () => {
  const stop = onResponse('guard', (_message, ctx) => ctx.stop('off-topic', 'It talks of the weather.'))

  it('ends the run as failed; what was said is kept as partial', async () => {
    const { messages, ...result } = await agentOf([{ text: 'Rain' }], [stop]).run('go')
    expect(failure(result as RunResult)).toMatchObject({ code: 'off-topic', message: 'It talks of the weather.' })
    expect(transcript(messages)).toEqual(['user: go', 'error: Rain'])
    assertWellFormed(messages)
  })

  it('runs no call of the answer', async () => {
    const { events, result } = await watch(agentOf([{ toolCalls: [say('x')] }], [stop]).stream('go'))
    expect(only(events, 'tool.execute.start')).toEqual([])
    assertWellFormed(result.messages)
  })

  it('counts what the answer cost all the same', async () => {
    const store = memoryStore()
    const result = await agentOf([{ text: 'Rain', usage: { inputTokens: 40, outputTokens: 6 } }], [stop], {
      store,
    }).run('go')
    expect(result.usage).toMatchObject({ inputTokens: 40, outputTokens: 6 })
    expect(await entriesOfType(store, result, 'attempt')).toMatchObject([{ usage: { inputTokens: 40 } }])
  })
})

describe('a model.response hook that throws', () => {
  const broken = onResponse('broken', () => Promise.reject(new Error('no rules')))

  it('fails the run, and is named', async () => {
    const { events, result } = await watch(agentOf([{ text: 'Rain' }], [broken]).stream('go'))
    expect(failure(result)).toMatchObject({ code: 'hook-failed' })
    expect(reported(events)).toEqual(['hook broken: The model.response hook of broken threw: no rules'])
  })

  it('lets nothing out that was held back', async () => {
    const { events } = await watch(agentOf([{ text: 'Rain' }], [hold, broken]).stream('go'))
    expect(typesOf(events).filter((type) => type.startsWith('text.'))).toEqual([])
  })

  it('counts what the answer cost all the same', async () => {
    const { usage } = await agentOf([{ text: 'Rain', usage: { inputTokens: 40, outputTokens: 6 } }], [broken]).run('go')
    expect(usage).toMatchObject({ inputTokens: 40, outputTokens: 6 })
  })
})

it('the judged message is the one in the history', async () => {
  const judged: Message[] = []
  const { messages } = await agentOf(
    [{ text: 'hello' }],
    [onResponse('look', (message) => void judged.push(message))],
  ).run('go')
  expect(messages.at(-1)).toEqual(judged[0])
})
