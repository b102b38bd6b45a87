import { createAgent } from '@provost/agent'
import type { Agent, Session } from '@provost/agent'
import type { SessionStore, Tool } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { describe, expect, test } from 'vitest'

import { gate, heard } from '../session/session-world.ts'

/** An agent whose tool `go` runs a child with this tool. */
function boss(store: SessionStore, work: Tool): Agent {
  const child = createAgent({
    name: 'worker',
    tools: [work],
    model: scriptedModel([{ toolCalls: [{ name: work.name, input: {} }] }, { text: 'Worked.' }]),
  })
  return createAgent({
    name: 'boss',
    store,
    tools: [child.toTool({ name: 'go', description: 'Works.' })],
    model: scriptedModel([{ toolCalls: [{ name: 'go', input: { task: 'Work.' } }] }, { text: 'Done.' }], {
      after: 'repeat-last',
    }),
  })
}

/** The codes of the errors that the session reported. */
function errorsIn(events: ReturnType<typeof heard>): readonly string[] {
  return events.flatMap((event) => (event.type === 'agent.error' ? [event.error.code] : []))
}

function childOf(session: Session): Promise<string> {
  return new Promise((resolve) => session.on('agent.start', ({ agent, runId }) => agent === 'worker' && resolve(runId)))
}

describe('a message to a child', () => {
  test('that the child leaves unread because it is aborted is reported as undelivered', async () => {
    const work = gate()
    const session = await boss(memoryStore(), work.tool).createSession({ id: 's' })
    const events = heard(session)
    const child = childOf(session)
    session.send('go')
    await work.entered
    session.send('Stop that.', { to: await child, mode: 'queue' })
    await new Promise(setImmediate)
    await session.abort({ graceMs: 0 })
    await session.waitForIdle()
    expect(errorsIn(events)).toEqual(['unknown-run'])
  })

  test('that arrives when no child runs is reported as undelivered, once', async () => {
    const { ephemeral: _, ...store } = memoryStore()
    const work = gate()
    work.open()
    const session = await boss(store, work.tool).createSession({ id: 's' })
    const child = childOf(session)
    session.send('go')
    await session.waitForIdle()
    const events = heard(session)
    await store.deliver('s', 'send/late', { to: await child, mode: 'steer', input: 'Late.' }, 'ann')
    session.send('more')
    expect((await session.waitForIdle())?.status).toBe('completed')
    session.send('and more')
    await session.waitForIdle()
    expect(errorsIn(events)).toEqual(['unknown-run'])
  })
})
