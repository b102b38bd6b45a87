import { createAgent } from '@provost/agent'
import { forkSession, memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { expect, onTestFinished, test } from 'vitest'

import { ask, executed, rawFrames, refund, serverOf } from '../served.ts'

/** Reads a stream until its text matches, and leaves it. */
async function until(response: Response, matches: (text: string) => boolean): Promise<string> {
  const reader = response.body?.getReader()
  let text = ''
  while (!matches(text)) {
    const next = await reader?.read()
    if (!next || next.done) throw new Error(`the stream ended: ${text}`)
    text += new TextDecoder().decode(next.value)
  }
  await reader?.cancel()
  return text
}

test('recover=0 reads the run of a dead process and leaves it dead', async () => {
  const store = memoryStore()
  const first = serverOf([{ toolCalls: [{ name: 'refund', input: { amount: 5 } }] }, { text: 'done' }], { store })
  const { id } = await executed(first, { input: 'refund 5' })
  await first.close()
  let calls = 0
  const model = scriptedModel([() => (calls++, { text: 'resumed' })], { after: 'repeat-last' })
  const agent = createAgent({ name: 'desk', model, tools: [refund], store })
  // The server looks for due runs at its start, and then not again in this test.
  const server = serverOf([], { agents: [agent], store, pollMs: 3_600_000 })
  onTestFinished(() => server.close({ graceMs: 0 }))
  await (await ask(server, '/ready')).text()
  // A log that ends in the middle of a turn, as after a crash.
  const { sessionId } = await forkSession(store, id, { at: 6, unfinished: 'continue', principal: { id: 'ann' } })
  const path = `/api/agent/session/${sessionId}/events`
  const looked = await ask(server, `${path}?recover=0`)
  expect(looked.status).toBe(200)
  await until(looked, (text) => text.includes('message.end'))
  expect(calls).toBe(0)
  expect((await store.leaseState(sessionId)).takeovers).toBe(0)
  expect((await ask(server, `${path}?recover=0`, { as: 'bob' })).status).toBe(404)
  expect(rawFrames(await (await ask(server, path)).text()).at(-1)?.event).toBe('execute_complete')
  expect(calls).toBe(1)
})

test('follow=1 stays open between runs, also where it only looks', async () => {
  const server = serverOf([{ text: 'one' }, { text: 'two' }])
  onTestFinished(() => server.close({ graceMs: 0 }))
  const { id } = await executed(server, { input: 'first' })
  for (const [query, text] of [
    ['follow=1&recover=0', 'two'],
    ['follow=1', 'two'],
  ]) {
    const stream = until(await ask(server, `/api/agent/session/${id}/events?${query}`), (seen) =>
      seen.includes(`"${text}"`),
    )
    if (query === 'follow=1&recover=0') await executed(server, { input: 'second', sessionId: id })
    expect(rawFrames(await stream).some(({ event }) => event === 'execute_complete')).toBe(false)
  }
})
