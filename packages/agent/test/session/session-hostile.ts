import type { SessionStore } from '@provost/core'
import { assertWellFormed } from '@provost/testing'
import { tool } from '@provost/tools'
import { expect, test } from 'vitest'
import { z } from 'zod'

import { transcript } from '../hooks/hook-scenario.ts'
import { readLog } from '../run/run-check.ts'
import { payTool, world } from './session-world.ts'

const full = process.env['PROVOST_TEST_FULL'] === '1'
/** What a long message has: full runs have the longest on every store, which the checks of the stores have in any case. */
const megabytes = full ? 10 : 1

const hostileIds = [
  ['the same', 'call_0'],
  ['empty', ''],
  ['one that wants out', '../../../etc/passwd'],
  ['one that no file takes', 'a\0b\u2028ü'],
] as const

/**
 * What a session has to bear, whatever its store: each part is done by an agent of its own, as by another process.
 *
 * @param ids how many kinds of ids of a provider are tried by default. They are no names in a store: one shows it of all.
 */
export function bearsTheWorst(open: (name: string) => SessionStore, ids = 1): void {
  test.for(hostileIds)(
    'provider ids of calls that are %s in every step: each payment is asked about and made',
    async (row, { skip }) => {
      const [, id] = row
      skip(!full && hostileIds.indexOf(row) >= ids, 'in full runs')
      const store = open('ids')
      const { tool: payment, done } = payTool()
      const sums = [1, 2, 3]
      const script = [...sums.map((sum) => ({ toolCalls: [{ name: 'pay', input: { sum }, id }] })), { text: 'Paid.' }]
      const sessionId = `ids ${id.length}`
      const first = await world(script, { tools: [payment], store }).agent.createSession({ id: sessionId })
      first.send('Pay.')
      await first.waitForIdle()
      await first.close()
      for (const sum of sums) {
        const session = await world(script.slice(sum), { tools: [payment], store }).agent.resumeSession(sessionId)
        expect(session.pending.approvals).toMatchObject([{ input: { sum } }])
        const approvals = session.pending.approvals.map((one) => ({ id: one.id, decision: 'approve' as const }))
        await session.resolve({ approvals })
        await session.waitForIdle()
        // While a call waits, it has no result yet.
        if (sum === sums.length) assertWellFormed(session.messages)
        await session.close()
      }
      expect(done).toEqual(sums)
      const entries = (await readLog(store, sessionId)).map((entry) => entry.id)
      expect(new Set(entries).size).toBe(entries.length)
      await store.close()
    },
  )

  test('what a tool gets is what the model wrote, whatever it looks like, also after an approval and a crash', async () => {
    const store = open('exact')
    const input = {
      password: 'hunter2',
      token: 'sk-ant-api03-AAAAAAAAAAAAAAAAAAAAAAAA',
      authorization: 'Bearer eyJhbGciOiJIUzI1NiJ9.e30.c2ln',
      mail: 'ann@example.com',
      note: '[redacted] *** ⟦secret:NAME⟧ \u200b\u202e\u2028 ﬁ',
    }
    const got: unknown[] = []
    const login = tool({
      name: 'login',
      input: z.record(z.string(), z.string()),
      needsApproval: true,
      execute: (given) => `${got.push(given)}`,
    })
    const script = [{ toolCalls: [{ name: 'login', input }] }, { text: 'In.' }]
    const first = await world(script, { tools: [login], store }).agent.createSession({ id: 'exact' })
    first.send('Log in.')
    await first.waitForIdle()
    expect(first.pending.approvals).toMatchObject([{ input }])
    await first.close()
    const session = await world(script.slice(1), { tools: [login], store }).agent.resumeSession('exact')
    await session.resolve({ approvals: [{ id: session.pending.approvals[0]?.id ?? '', decision: 'approve' }] })
    await session.waitForIdle()
    expect(got).toEqual([input])
    await session.close()
    await store.close()
  })

  test(`messages of ${megabytes} MB, said and found, are there for the next process`, async () => {
    const store = open('long')
    const long = `ä${'x'.repeat(megabytes * 1_000_000)}`
    const find = tool({ name: 'find', effect: 'read', input: z.object({}), maxResultTokens: 1e7, execute: () => long })
    const script = [{ toolCalls: [{ name: 'find' }] }, { text: 'Found.' }]
    const first = await world(script, { tools: [find], store }).agent.createSession({ id: 'long' })
    first.send(long)
    await first.waitForIdle()
    await first.close()
    const session = await world([{ text: 'Still here.' }], { tools: [find], store }).agent.resumeSession('long')
    const said = transcript(session.messages)
    expect(said[0] === `user: ${long}`).toBe(true)
    expect(said[2]?.includes(long)).toBe(true)
    session.send('And?')
    expect((await session.waitForIdle())?.text).toBe('Still here.')
    await session.close()
    await store.close()
  })

  test('a run that failed or was aborted in mid-sentence keeps the half sentence, for the next process too', async () => {
    const store = open('partial')
    const failing = [{ text: ['Half a', ' sentence'], failAfterChunks: 1, error: new Error('gone') }]
    const first = await world(failing, { store }).agent.createSession({ id: 'partial' })
    first.send('go')
    await first.waitForIdle().catch(() => {})
    const endless = [{ text: ['Another', ' half'], stall: true }]
    const second = await world(endless, { store }).agent.resumeSession('partial')
    second.on('text.delta', () => void second.abort())
    second.send('again')
    await second.waitForIdle()
    await second.close()
    const third = await world([{ text: 'Whole.' }], { store }).agent.resumeSession('partial')
    third.send('and now')
    expect((await third.waitForIdle())?.status).toBe('completed')
    const rows = (await readLog(store, 'partial')).flatMap((entry) => (entry.type === 'message' ? [entry.message] : []))
    const halves = rows.filter(({ role }) => role === 'error' || role === 'aborted')
    expect(halves).toMatchObject([
      { role: 'error', partial: true, content: [{ type: 'text', text: 'Half a' }] },
      { role: 'aborted', partial: true, content: [{ type: 'text', text: expect.stringMatching(/^Another/) }] },
    ])
    await third.close()
    await first.close()
    await store.close()
  })
}
