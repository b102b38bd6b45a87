import assert from 'node:assert/strict'

import type { Label, NewEntry, SessionStore, SessionSummaries } from '@provost/core'
import { mostTakeovers } from '@provost/core'

import { hostileNames, note, spawned, started, take, turned, write } from './log-entry.ts'
import type { Bench, CheckDraft } from './subject.ts'

type Summarizing = SessionStore & { readonly summaries: SessionSummaries }

function isSummarizing(store: SessionStore): store is Summarizing {
  return store.summaries !== undefined
}

/** Returns a check on an empty place. A store without summaries passes: they are optional. */
function summaryCheck(
  name: string,
  run: (store: Summarizing, reopened: () => Promise<Summarizing>) => Promise<void>,
  sharing: CheckDraft['sharing'] = 'memory',
): CheckDraft {
  return {
    name,
    sharing,
    async run(bench: Bench) {
      const place = await bench.place()
      const open = async (): Promise<Summarizing> => {
        const store = await place.open()
        if (!isSummarizing(store)) throw new Error('the store lost its summaries')
        return store
      }
      const store = await place.open()
      if (isSummarizing(store)) await run(store, open)
    },
  }
}

const at = (time: number, id: string): Pick<NewEntry, 'id' | 'at' | 'runId' | 'step' | 'agent' | 'v'> => ({
  ...{ id, at: time, runId: 'run', step: 1, agent: 'desk', v: 1 },
})
const label: Label = { integrity: 'trusted', confidentiality: 'internal', sources: [] }

function said(time: number, text: string, own: Partial<Label> = {}): NewEntry {
  const message = { id: `m${time}`, role: 'user', content: [{ type: 'text', text }], createdAt: time } as const
  return {
    ...at(time, `said-${time}`),
    type: 'message',
    via: 'input',
    message: { ...message, label: { ...label, ...own } },
  }
}

function attempt(time: number, inputTokens: number, cost?: number): NewEntry {
  const usage = { inputTokens, outputTokens: 1 }
  const priced = cost === undefined ? {} : { cost }
  return {
    ...at(time, `attempt-${time}`),
    type: 'attempt',
    attempt: 1,
    model: 'a/b',
    usage,
    outcome: 'answered',
    ...priced,
  }
}

function called(time: number, callId: string): NewEntry {
  const part = { type: 'tool-call', callId, toolCallId: callId, toolName: 'pay', input: { to: 'ann' } } as const
  const message = { id: `m${time}`, role: 'assistant', content: [part], createdAt: time, label } as const
  return { ...at(time, `called-${time}`), type: 'message', via: 'model', message }
}

const decided = (time: number, callId: string, outcome: 'ask' | 'deny' | 'proceed'): NewEntry => ({
  ...{
    ...at(time, `decided-${time}`),
    type: 'call',
    op: 'decided',
    callId,
    outcome,
    by: 'policy',
    args: { to: 'ann' },
  },
})
const waiting = (time: number, token: string, callId: string): NewEntry => ({
  ...{ ...at(time, `wait-${time}`), type: 'wait', token, kind: 'approval', callId },
})
const resolved = (time: number, token: string, decision: 'approve' | 'deny'): NewEntry => ({
  ...{ ...at(time, `resolved-${time}`), type: 'resolved', token, value: { decision }, by: 'olga' },
})

/** A session that asks, at a time. */
const asking = (time: number, token: string, principal = 'ann'): readonly NewEntry[] => [
  started(`${token}-start`, { principal, at: time }),
  said(time, `Pay ${token}`),
  attempt(time + 1, 10),
  called(time + 2, token),
  decided(time + 3, token, 'ask'),
  waiting(time + 4, token, token),
  turned(`${token}-off`, 'suspended', time + 5),
]

async function idsIn(
  store: Summarizing,
  filter: Parameters<SessionSummaries['list']>[0] = {},
): Promise<readonly string[]> {
  return (await store.summaries.list(filter)).map(({ id }) => id)
}

async function tokensIn(store: Summarizing): Promise<readonly string[]> {
  return (await store.summaries.waits({ limit: 100 })).map(({ wait }) => wait.token)
}

export const summaryChecks: readonly CheckDraft[] = [
  summaryCheck('summaries are listed by their last change, the newest first, in pages and filtered', async (store) => {
    const sessions = { one: 100, two: 300, three: 200, four: 200 }
    for (const [id, time] of Object.entries(sessions)) {
      const agent = id === 'two' ? [] : [turned('end', 'completed', time)]
      const fence = await write(store, id, [
        started('s', { principal: id, at: time }),
        said(time, `Title ${id}`),
        ...agent,
      ])
      await store.release(id, fence)
    }
    assert.deepEqual(await idsIn(store), ['two', 'three', 'four', 'one'])
    const [, last] = await store.summaries.list({ limit: 2 })
    assert.ok(last)
    assert.deepEqual(await idsIn(store, { before: last }), ['four', 'one'])
    assert.deepEqual(await idsIn(store, { q: 'TITLE T' }), ['two', 'three'])
    assert.deepEqual(await idsIn(store, { q: 'one' }), ['one'])
    assert.deepEqual(await idsIn(store, { q: '%' }), [])
    assert.deepEqual(await idsIn(store, { status: 'running' }), ['two'])
    assert.deepEqual(await idsIn(store, { principal: 'four', agent: 'desk' }), ['four'])
    assert.deepEqual(await idsIn(store, { from: 200, to: 300 }), ['three', 'four'])
    assert.deepEqual(await idsIn(store, { agent: 'other' }), [])
  }),
  summaryCheck('a summary has the title, steps, usage, cost and decisions of its session', async (store) => {
    const fence = await write(store, 's', [
      ...asking(1_000, 'x'),
      turned('on', 'resumed', 1_006),
      resolved(1_007, 'x', 'approve'),
    ])
    await store.append('s', [decided(1_008, 'x', 'proceed'), attempt(3_009, 5, 0.25), note('memo')], {
      after: 9,
      fence,
    })
    const found = await store.summaries.get('s')
    assert.ok(found)
    const { title, createdAt, updatedAt, steps, status, principal, waits, verdicts, spend } = found
    assert.deepEqual(
      { title, createdAt, updatedAt, steps, status, principal, waits },
      {
        ...{
          title: 'Pay x',
          createdAt: 1_000,
          updatedAt: 3_009,
          steps: 2,
          status: 'running',
          principal: 'ann',
          waits: [],
        },
      },
    )
    const counts = { allowed: 0, asked: 1, approved: 1, refused: 0, denied: 0, declassified: 0, flagged: 0 }
    assert.deepEqual(verdicts, [{ rule: 'policy', toolName: 'pay', ...counts }])
    assert.deepEqual(spend, [
      {
        ...{ day: '1970-01-01', agent: 'desk', model: 'a/b', cost: 0.25, calls: 2, unpriced: true },
        usage: { inputTokens: 15, outputTokens: 2 },
      },
    ])
    assert.deepEqual(await idsIn(store, { rule: 'policy' }), ['s'])
    assert.deepEqual(await idsIn(store, { rule: 'pol' }), [])
    assert.equal(await store.summaries.get('other'), undefined)
  }),
  summaryCheck('a secret text is not a title', async (store) => {
    await write(store, 's', [started('a'), said(1, 'hunter2', { confidentiality: 'secret' }), said(2, 'and hello')])
    assert.equal((await store.summaries.get('s'))?.title, 'and hello')
    assert.deepEqual(await idsIn(store, { q: 'hunter2' }), [])
  }),
  summaryCheck('logs of children and other logs have no summary; a session with any name has one', async (store) => {
    await write(store, 'other', [note('a')])
    await write(store, 'parent', [started('a'), spawned('b', 'child')])
    await write(store, 'child', [started('a', { parent: 'parent' })])
    assert.deepEqual(await idsIn(store), ['parent'])
    await write(store, 'late', [note('a')])
    const fence = await take(store, 'late')
    await store.append('late', [started('b', { at: 7 })], { after: 1, fence })
    assert.equal((await store.summaries.get('late'))?.offset, 2)
    for (const name of hostileNames) {
      await write(store, name, [started('a', { at: 9 }), said(9, name)])
      assert.equal((await store.summaries.get(name))?.id, name)
    }
    assert.equal((await idsIn(store, { from: 9 })).length, hostileNames.length)
  }),
  summaryCheck(
    'open waits of all sessions are listed, the oldest first, in pages, until they are over',
    async (store) => {
      const fences = new Map<string, number>()
      for (const [token, time] of Object.entries({ c: 300, a: 100, b: 200 })) {
        fences.set(token, await write(store, `of-${token}`, asking(time, token)))
      }
      const first = await store.summaries.waits({ limit: 2 })
      assert.deepEqual(
        first.map(({ sessionId, wait }) => [sessionId, wait.token, wait.toolName, wait.from, wait.offset]),
        [
          ['of-a', 'a', 'pay', 5, 6],
          ['of-b', 'b', 'pay', 5, 6],
        ],
      )
      const after = first.at(-1)?.wait
      assert.ok(after)
      assert.deepEqual(
        (await store.summaries.waits({ after, limit: 2 })).map(({ wait }) => wait.token),
        ['c'],
      )
      await store.append('of-b', [turned('on', 'resumed', 400), resolved(401, 'b', 'deny')], {
        after: 7,
        fence: fences.get('b') ?? 0,
      })
      await store.append('of-c', [turned('end', 'failed', 402)], { after: 7, fence: fences.get('c') ?? 0 })
      assert.deepEqual(await tokensIn(store), ['a'])
    },
  ),
  summaryCheck('a session in quarantine is listed as such, without its waits, until it is released', async (store) => {
    const fence = await write(store, 's', asking(100, 'a'))
    await store.release('s', fence)
    for (let n = 0; n <= mostTakeovers; n++) {
      await store.lease('s', `doomed-${n}`, 1)
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    const { mark } = await store.summaries.changes()
    await assert.rejects(store.lease('s', 'last', 60_000))
    assert.deepEqual(await idsIn(store, { status: 'quarantined' }), ['s'])
    assert.deepEqual(await tokensIn(store), [])
    assert.deepEqual(
      (await store.summaries.changes(mark)).sessions.map(({ status }) => status),
      ['quarantined'],
    )
    await store.releaseQuarantine('s')
    assert.deepEqual(await tokensIn(store), ['a'])
  }),
  summaryCheck('changes returns the sessions that changed since a mark, in their latest state', async (store) => {
    const fence = await write(store, 'one', [started('a', { at: 1 })])
    await write(store, 'two', [started('a', { at: 2 })])
    const { mark, sessions } = await store.summaries.changes()
    assert.deepEqual(sessions, [])
    await store.append('one', [note('n'), attempt(3, 1), attempt(4_000, 1)], { after: 1, fence })
    const next = await store.summaries.changes(mark)
    assert.deepEqual(
      next.sessions.map(({ id, steps }) => [id, steps]),
      [['one', 2]],
    )
    assert.deepEqual((await store.summaries.changes(next.mark)).sessions, [])
  }),
  summaryCheck('a deleted session has no summary, and one of the same name starts anew', async (store) => {
    await write(store, 's', [started('a-start', { at: 100 }), waiting(104, 'a', 'a')])
    await store.delete('s')
    assert.deepEqual(await idsIn(store), [])
    assert.deepEqual(await tokensIn(store), [])
    await write(store, 's', [started('b', { at: 5 })])
    assert.equal((await store.summaries.get('s'))?.createdAt, 5)
  }),
  summaryCheck(
    'another handle continues a summary where the first one stopped',
    async (store, reopened) => {
      const fence = await write(store, 's', [...asking(100, 'a'), note('unlisted')])
      await store.release('s', fence)
      const other = await reopened()
      const next = await take(other, 's', 'other')
      await other.append('s', [turned('on', 'resumed', 200), resolved(201, 'a', 'approve'), attempt(2_202, 7)], {
        after: 8,
        fence: next,
      })
      const found = await store.summaries.get('s')
      assert.deepEqual([found?.offset, found?.steps, found?.waits, found?.verdicts[0]?.approved], [11, 2, [], 1])
    },
    'processes',
  ),
]
