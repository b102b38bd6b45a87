import { createAgent } from '@provost/agent'
import type { AgentOptions, Orchestrator } from '@provost/agent'
import type { Delivery, Entry, SessionStore } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import type { ScriptedEntry, ScriptedPrompt } from '@provost/testing'
import { assertWellFormed } from '@provost/testing'
import { expect } from 'vitest'

import { askedModel, lines, only, transcript } from '../hooks/hook-scenario.ts'
import { readLog } from '../run/run-check.ts'
import { heard } from '../session/session-world.ts'

/** Answers the last of the words that the tests send, with all of them that came since the last answer. */
export const answer: ScriptedEntry = ({ messages }) => {
  const said = lines({ messages })
  if (said.at(-1)?.includes('Make a plan')) return { text: '{"steps": []}' }
  const since = said.slice(said.findLastIndex((line) => line.startsWith('assistant: Re ')) + 1)
  return { text: `Re ${since.flatMap((line) => /\b(go|q\d)\b/.exec(line)?.[1] ?? []).join('+')}` }
}

/** An agent without tools: it answers at once. */
export function plain(more: Omit<Partial<AgentOptions>, 'output'> = {}) {
  const asked: ScriptedPrompt[] = []
  return {
    asked,
    agent: createAgent({ name: 'a', model: askedModel(asked, [answer], { after: 'repeat-last' }), ...more }),
  }
}

export async function deliveriesIn(store: SessionStore, sessionId: string): Promise<readonly Delivery[]> {
  const deliveries: Delivery[] = []
  for await (const delivery of store.inbox(sessionId)) deliveries.push(delivery)
  return deliveries
}

/** What a process that dies leaves behind: the first entries of a log, and the inbox as it was then. */
async function remains(entries: readonly Entry[], inbox: readonly Delivery[]): Promise<SessionStore> {
  const { ephemeral: __, ...store } = memoryStore()
  const lease = await store.lease('s', 'the dead', 1000)
  if (lease === 'busy') throw new Error('busy')
  await store.append('s', entries, { after: 0, fence: lease.fence })
  await store.release('s', lease.fence)
  for (const { token, value, by } of inbox) await store.deliver('s', token, value, by)
  return store
}

/** Expects that queued messages are answered one a turn. */
export async function expectOneATurn(orchestrator: Orchestrator, callsOfTurn: number): Promise<void> {
  const { agent, asked } = plain({ orchestrator })
  const session = await agent.createSession({ sendMode: 'queue' })
  const events = heard(session)
  for (const text of ['go', 'q1', 'q2', 'q3']) session.send(text)
  await session.waitForIdle()
  expect(only(events, 'turn.start').map(({ trigger }) => trigger)).toEqual(['input', 'queue', 'queue', 'queue'])
  expect(asked).toHaveLength(4 * callsOfTurn)
  const said = transcript(session.messages).filter((line) => /^user: (?:go|q\d)$|^assistant: Re \w/.test(line))
  expect(said).toEqual(['go', 'q1', 'q2', 'q3'].flatMap((text) => [`user: ${text}`, `assistant: Re ${text}`]))
}

/** Expects that no message is lost or answered twice when a process dies after any append. */
export async function expectAnsweredElsewhere(orchestrator: Orchestrator): Promise<void> {
  for (const how of ['send', 'followUp', 'getFollowUp'] as const) {
    const { ephemeral: __, ...kept } = memoryStore()
    /** Where the log and the inbox stood after each append: in between, no process can die. */
    const ends: { readonly offset: number; readonly inbox: readonly Delivery[] }[] = []
    const store: SessionStore = {
      ...kept,
      async append(log, entries, at) {
        const appended = await kept.append(log, entries, at)
        ends.push({ offset: appended.offset, inbox: await deliveriesIn(kept, 's') })
        return appended
      },
    }
    const { agent } = plain({ orchestrator, store })
    const session = await agent.createSession({ id: 's' })
    const words = ['q1', 'q2', 'q3']
    const stream = session.stream('go', how === 'getFollowUp' ? { getFollowUp: () => words.splice(0) } : {})
    if (how === 'followUp') for (const text of words) stream.followUp(text)
    if (how === 'send') await Promise.all(words.map((text) => session.deliver(text, { mode: 'queue' })))
    await stream.result
    const entries = await readLog(store, 's')
    const first = entries.find((one) => one.type === 'message' && one.via === 'queue')?.offset ?? Infinity
    const expected = transcript(session.messages).filter((line) => /^user: (?:go|q\d)$|^assistant: Re/.test(line))
    expect(expected).toHaveLength(8)
    let died = 0
    for (const { offset, inbox } of ends.slice(1)) {
      // Before, inputs of the other two are only in the memory of the process.
      if (how !== 'send' && offset < first) continue
      died++
      const again = plain({ orchestrator, store: await remains(entries.slice(0, offset), inbox) })
      const opened = await again.agent.resumeSession('s')
      if (opened.status === 'suspended') await opened.resume().result
      await opened.waitForIdle()
      const said = transcript(opened.messages).filter((line) => /^user: (?:go|q\d)$|^assistant: Re/.test(line))
      expect(said, `${how}: after ${offset} of ${entries.length} entries`).toEqual(expected)
      assertWellFormed(opened.messages)
    }
    expect(died).toBeGreaterThan(4)
  }
}
