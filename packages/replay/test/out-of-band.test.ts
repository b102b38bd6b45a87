import { createAgent } from '@provost/agent'
import type { Orchestrator } from '@provost/agent'
import { logOf } from '@provost/agent/test/handoff/handoff-world'
import type { Entry, EntryBody, NewEntry } from '@provost/core'
import { defineExtension, textOf, trustedLabel } from '@provost/core'
import { replaySession } from '@provost/replay'
import { memoryStore } from '@provost/sessions'
import { planAndExecute } from '@provost/teams'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

const look = tool({ name: 'look', input: z.object({}), effect: 'read', execute: () => 'seen' })
const usage = { inputTokens: 1, outputTokens: 1 }

/** What hooks and extensions write at any place of a run, one of each type. */
const asides = {
  ext: { type: 'ext', name: 'x', key: 'k', data: 1 },
  audit: { type: 'audit', decision: 'flagged', by: 'x', rule: 'r', sources: [], evidence: null },
  memo: { type: 'memo', key: 'x', value: 1 },
  tail: { type: 'tail', hash: '', label: trustedLabel },
  view: { type: 'view', from: '', to: '', with: [], reason: 'edit' },
  attempt: { type: 'attempt', attempt: 1, model: 'm', usage, outcome: 'answered', purpose: 'generated' },
  message: {
    type: 'message',
    via: 'system',
    message: { id: 's', role: 'system', content: [{ type: 'text', text: 'Be brief.' }], createdAt: 1 },
  },
} satisfies { readonly [K in EntryBody['type']]?: Extract<EntryBody, { type: K }> }

/** Returns the log with one more entry at a place. */
function withEntry(entries: readonly Entry[], at: number, body: EntryBody): readonly Entry[] {
  const { runId = '', step = 0, agent = '' } = entries[at - 1] ?? {}
  const aside: NewEntry = { id: 'aside', at: 1, runId, step, agent, v: 1, ...body }
  return [...entries.slice(0, at), aside, ...entries.slice(at)].map((entry, index) => ({ ...entry, offset: index + 1 }))
}

const ways: Readonly<Record<string, Orchestrator | undefined>> = {
  'the loop alone': undefined,
  'an orchestrator that reads the view first': async (run) => {
    if (run.view.messages.length > 0) await run.say('Look first.')
    await run.model()
    if (run.calls.length > 0) await run.execute()
    await run.model()
  },
  planAndExecute: planAndExecute(),
}

describe.each(Object.entries(ways))('a replay of a run of %s', (name, orchestrator) => {
  test.each(Object.entries(asides))(
    'with an entry of the type %s at any place reports no difference',
    async (_, body) => {
      const store = memoryStore()
      const plan = name === 'planAndExecute' ? [{ text: '{"steps": ["look"]}' }] : []
      const model = scriptedModel([...plan, { toolCalls: [{ name: 'look', input: {} }] }, { text: 'Seen.' }], {
        after: 'repeat-last',
      })
      const agent = createAgent({ name: 'desk', model, store, tools: [look], ...(orchestrator && { orchestrator }) })
      const { status, state } = await agent.run('Look.')
      expect(status).toBe('completed')
      const entries = await logOf(store, state.cursor.sessionId)
      const differences = []
      for (let at = 1; at < entries.length; at++) {
        // A run starts with its input, and an attempt has its answer, in one append.
        if (entries[at - 1]?.type === 'run' || entries[at - 1]?.type === 'attempt') continue
        const difference = await replaySession(agent, withEntry(entries, at, body))
        if (difference) differences.push({ at, difference })
      }
      expect(differences).toEqual([])
    },
  )
})

test.each([
  ['took its input from the inbox', undefined],
  [
    'began with a model call of a hook',
    defineExtension({
      name: 'greeter',
      hooks: { 'session.start': async (ctx) => (await ctx.generate({ prompt: 'Greet.' })).text },
    }),
  ],
])('an orchestrator sees the input, at first and when it resumes, in a run that %s', async (_, greeter) => {
  const ask = tool({ name: 'ask', input: z.object({}), effect: 'write', needsApproval: true, execute: () => 'sent' })
  const orchestrator: Orchestrator = async (run) => {
    seen.push([run.view.messages.map(textOf), run.view.overhead])
    await run.say('Send it now.')
    await run.model()
    if (run.calls.length > 0) await run.execute()
    await run.model()
  }
  const seen: unknown[] = []
  const store = memoryStore()
  const make = () => {
    const step = { toolCalls: [{ name: 'ask', input: {} }] }
    const model = scriptedModel([({ messages }) => (messages.at(-1)?.role === 'tool' ? { text: 'Done.' } : step)], {
      after: 'repeat-last',
    })
    return createAgent({
      name: 'desk',
      model,
      store,
      tools: [ask],
      orchestrator,
      ...(greeter && { extensions: [greeter] }),
    })
  }
  const session = await make().createSession({ id: 's' })
  await session.deliver('Send it.')
  expect((await session.waitForIdle())?.status).toBe('suspended')
  await session.close()
  const again = await make().resumeSession('s')
  const end = await again.resume({ approvals: [{ id: again.pending.approvals[0]?.id ?? '', decision: 'approve' }] })
    .result
  expect({ status: end.status, text: end.text, error: end.error }).toEqual({ status: 'completed', text: 'Done.' })
  await again.close()
  expect(seen).toEqual([seen[0], seen[0]])
  expect(seen[0]).toEqual([['Send it.'], expect.any(Number)])
})
