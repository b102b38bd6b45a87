import { inspect } from 'node:util'

import type { Message } from '@provost/core'
import { textOf } from '@provost/core'
import { assertWellFormed } from '@provost/testing'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'

import { echo, entriesOfType, extension, lines, say, transcript } from '../hooks/hook-scenario.ts'
import { gate, pay, payTool, world } from './session-world.ts'

const code = (expected: string) => expect.objectContaining({ code: expected })

/** A session with a call in it: user, assistant with the call, its result, assistant; twice. */
async function talked(more: Parameters<typeof world>[1] = {}) {
  const made = world(
    [{ toolCalls: [say('x')] }, { text: 'one' }, { toolCalls: [say('y')] }, { text: 'two' }, { text: 'three' }],
    { tools: [echo], ...more },
  )
  const session = await made.agent.createSession({ id: 's' })
  for (const text of ['go', 'on']) {
    session.send(text)
    await session.waitForIdle()
  }
  return { ...made, session }
}

/** What a function throws. */
function refusalOf(act: () => void): unknown {
  try {
    act()
    return undefined
  } catch (thrown) {
    return thrown
  }
}

const all = [
  'user: go',
  'assistant: [echo]',
  'tool: [echo x]',
  'assistant: one',
  'user: on',
  'assistant: [echo]',
  'tool: [echo y]',
  'assistant: two',
]

describe('session.messages', () => {
  test('can be read like any array', async () => {
    const { session } = await talked()
    const { messages } = session
    expect(Array.isArray(messages)).toBe(true)
    expect(messages).toHaveLength(8)
    expect(transcript(messages)).toEqual(all)
    expect([...messages].map(({ role }) => role)).toEqual(messages.map(({ role }) => role))
    expect(messages.at(-1)).toBe(messages[7])
    expect(messages.slice(0, 2)).toEqual([messages[0], messages[1]])
    expect(JSON.parse(JSON.stringify(messages))).toHaveLength(8)
    expect(Object.keys(messages)).toHaveLength(8)
    expect(3 in messages && !(8 in messages)).toBe(true)
    expect(inspect(messages)).toContain("'assistant'")
    expect(session.messages, 'nothing is copied to look at it').toBe(messages)
  })

  test.each<[string, (messages: Message[]) => unknown, string]>([
    ['push', (m) => m.push(...m), 'append'],
    ['pop', (m) => m.pop(), 'splice'],
    ['shift', (m) => m.shift(), 'splice'],
    ['unshift', (m) => m.unshift(...m), 'splice'],
    // oxlint-disable-next-line unicorn/no-array-sort, typescript/require-array-sort-compare -- that is what is refused
    ['sort', (m) => m.sort(), 'transaction'],
    // oxlint-disable-next-line unicorn/no-array-reverse -- that is what is refused
    ['reverse', (m) => m.reverse(), 'transaction'],
    ['fill', (m) => (m[0] ? m.fill(m[0]) : undefined), 'replaceRange'],
    ['copyWithin', (m) => m.copyWithin(0, 1), 'transaction'],
    ['an index', (m) => (m[0] ? (m[0] = m[0]) : undefined), 'replace'],
    ['its length', (m) => (m.length = 0), 'splice'],
    ['delete', (m) => Reflect.deleteProperty(m, 0), 'splice'],
    ['defineProperty', (m) => Object.defineProperty(m, 0, { value: 1 }), 'replace'],
    ['freeze', (m) => Object.freeze(m), 'append'],
    ['a prototype', (m) => Object.setPrototypeOf(m, null), 'append'],
    ['Array.prototype.push', (m) => Array.prototype.push.call(m, 1), 'append'],
    ['Array.prototype.splice', (m) => Array.prototype.splice.call(m, 0, 1), 'splice'],
  ])('cannot be written to by %s: the error names what to use', async (_, mutate, instead) => {
    const { session } = await talked()
    // @ts-expect-error it is no list that can be written to
    const messages: Message[] = session.messages
    expect(() => mutate(messages)).toThrow(code('guarded-messages'))
    expect(() => mutate(messages)).toThrow(expect.objectContaining({ hint: expect.stringContaining(instead) }))
    expect(transcript(session.messages)).toEqual(all)
  })

  test('holds messages that are frozen', async () => {
    const { session } = await talked()
    expect(() => Object.assign(session.messages[0] ?? {}, { role: 'system' })).toThrow(TypeError)
  })
})

describe('an edit', () => {
  test('is visible at once, to the next model call, and after reopening the session; the log keeps the original', async () => {
    const { session, asked, agent, store } = await talked()
    const first = session.messages[0]
    session.messages.replace(first?.id ?? '', { content: 'stop' })
    session.messages.replaceRange(session.messages[1]?.id ?? '', session.messages[2]?.id ?? '')
    session.messages.append({ content: 'by the way' })
    const edited = ['user: stop', 'assistant: one', ...all.slice(4), 'user: by the way']
    expect(transcript(session.messages)).toEqual(edited)
    const views = (): Promise<readonly unknown[]> => entriesOfType(store, { sessionId: 's' }, 'view')
    expect(await views()).toEqual([])
    await session.waitForIdle()
    expect(await views()).toMatchObject([{ reason: 'edit' }, { reason: 'edit' }, { reason: 'edit' }])
    expect(transcript((await agent.resumeSession('s')).messages)).toEqual(edited)
    session.send('well?')
    await session.waitForIdle()
    expect(lines(asked[4] ?? { messages: [] })).toEqual([
      'user: stop',
      'assistant: one',
      'user: on',
      'assistant: [echo {"value":"y"}]',
      'tool: [echo → echo y]',
      'assistant: two',
      'user: by the way',
      'user: well?',
    ])
    expect(await entriesOfType(store, { sessionId: 's' }, 'message')).toHaveLength(8)
  })

  test('is written before the run that follows it', async () => {
    const { session, asked } = await talked()
    session.messages.splice(0, 4)
    session.send('well?')
    await session.waitForIdle()
    expect(lines(asked[4] ?? { messages: [] })[0]).toBe('user: on')
  })

  test('can insert at any place', async () => {
    const { session } = await talked()
    session.messages.splice(4, 0, { content: 'between' })
    session.messages.splice(-1, 1)
    session.messages.splice(0, 0, { content: 'first' })
    await session.waitForIdle()
    expect(transcript(session.messages)).toEqual([
      'user: first',
      ...all.slice(0, 4),
      'user: between',
      ...all.slice(4, 7),
    ])
  })

  test('can fill what is empty', async () => {
    const { agent } = world([{ text: 'Hello.' }])
    const session = await agent.createSession()
    session.messages.append({ content: 'hi' }, { role: 'assistant', content: 'hello' })
    session.send('well?')
    await session.waitForIdle()
    expect(transcript(session.messages)).toEqual(['user: hi', 'assistant: hello', 'user: well?', 'assistant: Hello.'])
  })

  test.each<[string, (messages: Awaited<ReturnType<typeof talked>>['session']['messages']) => void, RegExp]>([
    ['parts a call from its result', (m) => m.splice(2, 1), /messages\[1\].*echo has no result/],
    ['parts a result from its call', (m) => m.splice(1, 1), /messages\[1\].*echo has no call before it/],
    ['lets the assistant begin', (m) => m.splice(0, 1), /messages\[0\].*before the user/],
    ['gives a call a second result', (m) => m.splice(3, 0, m[2] ?? { content: '' }), /messages\[3\].*no open call/],
    ['makes a call again', (m) => m.append(m[1] ?? { content: '' }), /messages\[8\].*twice/],
    ['puts in a system message', (m) => m.append({ role: 'system', content: 'x' }), /messages\[8\].*system/],
    ['is empty', (m) => m.append({ role: 'assistant', content: '' }), /messages\[8\].*is empty/],
    ['is an error that does not say which', (m) => m.append({ role: 'error', content: '' }), /messages\[8\]/],
    // @ts-expect-error there is no such role
    ['has a role that is none', (m) => m.append({ role: 'boss', content: 'x' }), /messages\[8\].*role boss/],
    // @ts-expect-error there is no such part
    ['has a part that is none', (m) => m.append({ content: [{ type: 'image' }] }), /messages\[8\].*part 0/],
    // @ts-expect-error a file has bytes somewhere
    ['has a file without bytes', (m) => m.append({ content: [{ type: 'file' }] }), /messages\[8\].*part 0/],
    // @ts-expect-error a text is a string
    ['has a text that is none', (m) => m.append({ content: [{ type: 'text', text: 5 }] }), /messages\[8\].*part 0/],
    // @ts-expect-error a part is an object
    ['has nothing for a part', (m) => m.append({ content: [null] }), /messages\[8\].*part 0/],
  ])('that %s is refused, with the index and the reason; nothing is changed', async (_, edit, reason) => {
    const { session } = await talked()
    expect(() => edit(session.messages)).toThrow(code('invalid-messages'))
    expect(() => edit(session.messages)).toThrow(reason)
    expect(transcript(session.messages)).toEqual(all)
  })

  test('names all that is wrong, up to ten', async () => {
    const { session } = await talked()
    const wrong = Array.from({ length: 14 }, () => ({ role: 'system' as const, content: 'x' }))
    expect(() => session.messages.append(...wrong)).toThrow(/messages\[17\].*and 4 more/)
  })

  test('of a message that is not there is refused', async () => {
    const { session } = await talked()
    const { messages } = session
    expect(() => messages.replace('x', { content: 'y' })).toThrow(code('unknown-message'))
    expect(() => messages.replaceRange(messages[3]?.id ?? '', messages[0]?.id ?? '')).toThrow(code('unknown-message'))
    // @ts-expect-error a message has content
    expect(() => messages.append({ role: 'user' })).toThrow(code('invalid-messages'))
    // @ts-expect-error nothing is no message
    expect(() => messages.append(null)).toThrow(code('invalid-messages'))
  })

  test('makes nothing trusted that was not', async () => {
    const { session } = await talked()
    const { messages } = session
    messages.replaceRange(messages[0]?.id ?? '', messages[3]?.id ?? '', { content: 'what the tool said' })
    expect(messages[0]?.label?.integrity).toBe('untrusted')
    messages.append({ role: 'assistant', content: 'my words in its mouth' })
    expect(messages.at(-1)?.label?.integrity).toBe('untrusted')
    messages.append({ content: 'mine' }, { content: 'marked', label: { integrity: 'untrusted' } })
    expect(messages.slice(-2).map(({ label }) => label?.integrity)).toEqual(['trusted', 'untrusted'])
  })

  test('is refused while a run is in progress, or waits', async () => {
    const work = gate()
    const { tool } = payTool()
    const { agent } = world([{ toolCalls: [{ name: 'work' }] }, { toolCalls: [pay(1)] }], { tools: [work.tool, tool] })
    const session = await agent.createSession()
    session.send('go')
    await work.entered
    expect(() => session.messages.append({ content: 'x' })).toThrow(code('session-open'))
    await expect(session.reset()).rejects.toThrow(code('session-open'))
    work.open()
    await session.waitForIdle()
    expect(session.status).toBe('suspended')
    expect(() => session.messages.transaction((draft) => draft.append({ content: 'x' }))).toThrow(code('session-open'))
  })

  test('of a session that went on elsewhere is dropped, and that is said', async () => {
    const { session, agent } = await talked()
    session.messages.append({ content: 'late' })
    const elsewhere = await agent.resumeSession('s')
    elsewhere.send('well?')
    await elsewhere.waitForIdle()
    await expect(session.waitForIdle()).rejects.toThrow(code('stale-edits'))
    expect(transcript(session.messages)).toEqual(transcript(elsewhere.messages))
  })
})

describe('a transaction', () => {
  test('is checked as a whole, and gives what its function gives', async () => {
    const { session } = await talked()
    const count = session.messages.transaction((draft) => {
      draft.splice(2, 1)
      expect(transcript(session.messages), 'the draft is invisible').toEqual(all)
      draft.splice(1, 1)
      draft.transaction((same) => same.append({ content: 'x' }))
      return draft.length
    })
    expect([count, transcript(session.messages)]).toEqual([
      7,
      ['user: go', 'assistant: one', ...all.slice(4), 'user: x'],
    ])
    await session.waitForIdle()
    expect(transcript(session.messages)).toHaveLength(7)
  })

  test('that throws, or comes to nothing that is whole, changes nothing', async () => {
    const { session } = await talked()
    expect(() =>
      session.messages.transaction((draft) => {
        draft.append({ content: 'x' })
        throw new Error('no')
      }),
    ).toThrow('no')
    expect(() => session.messages.transaction((draft) => draft.splice(1, 1))).toThrow(code('invalid-messages'))
    expect(transcript(session.messages)).toEqual(all)
  })
})

describe('a transaction with an asynchronous callback', () => {
  test('is refused and rolled back; its later edits fail', async () => {
    const { session } = await talked()
    const late = Promise.withResolvers<unknown>()
    const refused = refusalOf(() =>
      // @ts-expect-error a callback that returns a promise is refused by type
      session.messages.transaction(async (draft) => {
        draft.append({ content: 'early' })
        await Promise.resolve()
        late.resolve(refusalOf(() => draft.append({ content: 'late' })))
      }),
    )
    expect(refused).toMatchObject({ code: 'async-transaction', hint: expect.stringContaining('batch()') })
    expect(await late.promise).toMatchObject({ code: 'draft-over' })
    expect(transcript(session.messages)).toEqual(all)
  })

  test('is refused also where it returns a promise of something else', async () => {
    const { session } = await talked()
    // @ts-expect-error a promise is refused by type
    const act = () => session.messages.transaction(() => Promise.reject(new Error('unheard')))
    expect(act).toThrow(code('async-transaction'))
  })
})

describe('a batch', () => {
  test('applies its edits at the commit, with one validation', async () => {
    const { session, agent } = await talked()
    const draft = session.messages.batch()
    draft.splice(1, 1)
    await Promise.resolve()
    draft.splice(1, 1)
    draft.append({ content: 'more' })
    const edited = ['user: go', ...all.slice(3), 'user: more']
    expect(transcript(draft), 'the draft shows its edits').toEqual(edited)
    expect(transcript(session.messages), 'the session does not yet').toEqual(all)
    draft.commit()
    expect(transcript(session.messages)).toEqual(edited)
    await session.waitForIdle()
    expect(transcript((await agent.resumeSession('s')).messages)).toEqual(edited)
  })

  test('without a commit changes nothing', async () => {
    const { session } = await talked()
    session.messages.batch().splice(0, 8)
    session.messages.append({ content: 'x' })
    expect(transcript(session.messages)).toEqual([...all, 'user: x'])
  })

  test('that is invalid can be repaired and committed', async () => {
    const { session } = await talked()
    const draft = session.messages.batch()
    draft.splice(1, 1)
    expect(() => draft.commit()).toThrow(code('invalid-messages'))
    expect(transcript(session.messages)).toEqual(all)
    draft.splice(1, 1)
    draft.commit()
    expect(transcript(session.messages)).toEqual(['user: go', ...all.slice(3)])
  })

  test('is over after its commit', async () => {
    const { session } = await talked()
    const draft = session.messages.batch()
    draft.append({ content: 'x' })
    draft.commit()
    expect(() => draft.append({ content: 'y' })).toThrow(code('draft-over'))
    expect(() => draft.commit()).toThrow(code('draft-over'))
    expect(transcript(session.messages)).toEqual([...all, 'user: x'])
  })

  test('is refused where the messages changed meanwhile, by an edit or by a run', async () => {
    const { session } = await talked()
    const one = session.messages.batch()
    one.append({ content: 'one' })
    const other = session.messages.batch()
    other.append({ content: 'other' })
    other.commit()
    expect(() => one.commit()).toThrow(code('messages-changed'))
    const late = session.messages.batch()
    late.append({ content: 'late' })
    session.send('again')
    await session.waitForIdle()
    expect(() => late.commit()).toThrow(code('messages-changed'))
    expect(transcript(session.messages).slice(8)).toEqual(['user: other', 'user: again', 'assistant: three'])
  })

  test('is not disturbed where edits of before it are written', async () => {
    const { session } = await talked()
    session.messages.append({ content: 'before' })
    const draft = session.messages.batch()
    draft.append({ content: 'after' })
    await session.waitForIdle()
    draft.commit()
    expect(transcript(session.messages).slice(8)).toEqual(['user: before', 'user: after'])
  })

  test('in a batch reaches the session only with the outer one', async () => {
    const { session } = await talked()
    const outer = session.messages.batch()
    const inner = outer.batch()
    inner.append({ content: 'inner' })
    inner.commit()
    expect(transcript(session.messages)).toEqual(all)
    outer.commit()
    expect(transcript(session.messages)).toEqual([...all, 'user: inner'])
  })
})

test('whatever is edited: the history is whole, and the log gives what was seen', async () => {
  const edit = fc.record({ start: fc.integer({ min: -9, max: 9 }), remove: fc.nat(5), insert: fc.nat(2) })
  await fc.assert(
    fc.asyncProperty(fc.array(edit, { maxLength: 6 }), async (edits) => {
      const { session, agent } = await talked()
      for (const { start, remove, insert } of edits) {
        const before = transcript(session.messages)
        const added = Array.from({ length: insert }, (_, n) => ({ content: `new ${n}` }))
        const after = before.toSpliced(start, remove, ...added.map(({ content }) => `user: ${content}`))
        const refused = refusalOf(() => session.messages.splice(start, remove, ...added))
        expect(refused ?? code('invalid-messages')).toEqual(code('invalid-messages'))
        expect(transcript(session.messages)).toEqual(refused ? before : after)
        assertWellFormed(session.messages)
      }
      const seen = session.messages.map((message) => [message.id, textOf(message)])
      await session.waitForIdle()
      const again = await agent.resumeSession('s')
      expect(again.messages.map((message) => [message.id, textOf(message)])).toEqual(seen)
    }),
  )
})

describe('reset', () => {
  test('empties what the model sees, and keeps the log', async () => {
    const { session, asked, store } = await talked()
    await session.reset()
    expect([session.messages.length, session.status]).toEqual([0, 'idle'])
    await session.reset()
    session.send('new')
    expect((await session.waitForIdle())?.text).toBe('three')
    expect(lines(asked[4] ?? { messages: [] })).toEqual(['user: new'])
    expect(await entriesOfType(store, { sessionId: 's' }, 'view')).toMatchObject([{ reason: 'reset', with: [] }])
    expect(await entriesOfType(store, { sessionId: 's' }, 'message')).toHaveLength(8)
  })

  test('can be followed by a send at once', async () => {
    const { session, asked } = await talked()
    const done = session.reset()
    session.send('new')
    await Promise.all([done, session.waitForIdle()])
    expect(lines(asked[4] ?? { messages: [] })).toEqual(['user: new'])
  })
})

describe('fork', () => {
  test('takes the conversation along, and goes its own way', async () => {
    const { session, asked } = await talked()
    const branch = await session.fork()
    expect(branch.id).not.toBe(session.id)
    expect(branch.messages).toEqual(session.messages)
    branch.send('elsewhere')
    await branch.waitForIdle()
    expect(lines(asked[4] ?? { messages: [] }).slice(-2)).toEqual(['assistant: two', 'user: elsewhere'])
    expect(session.messages).toHaveLength(8)
    expect(Object.keys(branch.usage.byModel)).toEqual(['scripted/scripted-model'])
    expect(branch.usage.inputTokens).toBeLessThan(session.usage.inputTokens ?? 0)
  })

  test('branches off with the end of the turn that holds a message', async () => {
    const { session } = await talked()
    for (const index of [0, 1, 3]) {
      const branch = await session.fork({ at: session.messages[index]?.id ?? '' })
      expect(transcript(branch.messages)).toEqual(all.slice(0, 4))
    }
    await expect(session.fork({ at: 'x' })).rejects.toThrow(code('unknown-message'))
    await expect(
      world([])
        .agent.createSession()
        .then((empty) => empty.fork({ at: 'x' })),
    ).rejects.toThrow(code('unknown-message'))
  })

  test('takes edits along, and what was imported', async () => {
    const { session, agent } = await talked()
    session.messages.splice(0, 4)
    const branch = await session.fork()
    expect(transcript(branch.messages)).toEqual(all.slice(4))
    branch.messages.append({ content: 'edited here' })
    const twig = await branch.fork({ at: branch.messages.at(-1)?.id ?? '' })
    expect(transcript(twig.messages)).toEqual([...all.slice(4), 'user: edited here'])
    const imported = await agent.createSession({
      principal: { id: 'ann' },
      messages: [
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: 'hello' },
      ],
    })
    const copy = await imported.fork()
    expect([transcript(copy.messages), copy.status]).toEqual([['user: hi', 'assistant: hello'], 'idle'])
  })

  test('of a session that waits leaves the wait, and the turn it belongs to, behind', async () => {
    const { tool, done } = payTool()
    const { agent } = world([{ text: 'Hello.' }, { toolCalls: [pay(1)] }, { text: 'Elsewhere.' }], { tools: [tool] })
    const session = await agent.createSession({ principal: { id: 'ann' }, onApproval: () => undefined })
    for (const text of ['hi', 'pay']) {
      session.send(text)
      await session.waitForIdle()
    }
    const branch = await session.fork()
    expect([branch.status, branch.pending.approvals, transcript(branch.messages)]).toEqual([
      'idle',
      [],
      ['user: hi', 'assistant: Hello.'],
    ])
    expect((await branch.stream('and?').result).text).toBe('Elsewhere.')
    expect([session.status, done]).toEqual(['suspended', []])
  })

  test('keeps labels, the words of the human and the system prompt; not on whose behalf it acts', async () => {
    const seen: unknown[] = []
    const { agent, asked } = world([{ text: 'one' }, { text: 'two' }], {
      extensions: [
        extension('house', {
          'session.start': () => 'Rules, once.',
          'run.end': (_, ctx) => seen.push([ctx.principal?.id, ctx.intent.map((message) => textOf(message))]),
        }),
      ],
    })
    const session = await agent.createSession({ principal: { id: 'ann' } })
    session.send('go')
    await session.waitForIdle()
    const branch = await session.fork()
    expect(branch.messages.map(({ label }) => label)).toEqual(session.messages.map(({ label }) => label))
    branch.send('on')
    await branch.waitForIdle()
    expect(lines(asked[1] ?? { messages: [] })).toEqual([
      'system: Rules, once.',
      'user: go',
      'assistant: one',
      'user: on',
    ])
    expect(seen).toEqual([
      ['ann', ['go']],
      [undefined, ['go', 'on']],
    ])
  })
})
