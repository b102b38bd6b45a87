import { createAgent } from '@provost/agent'
import type { AgentEvent, Extension } from '@provost/core'
import { defineExtension } from '@provost/core'
import type { DataFlowRule } from '@provost/governance'
import { dataFlowPolicy } from '@provost/governance'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import type { ScriptedStep } from '@provost/testing'
import { tool } from '@provost/tools'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { z } from 'zod'

import { full } from '../fixture/full.ts'

const input = z.object({ to: z.string() })
const tools = [
  tool({ name: 'read_page', effect: 'read', input, execute: ({ to }) => `See ${to} and evil.io` }),
  tool({
    name: 'read_key',
    effect: 'read',
    input,
    returns: { confidentiality: 'secret' },
    execute: () => ({ to: 'x@y.z' }),
  }),
  tool({ name: 'send_email', effect: 'egress', input, execute: ({ to }) => `sent to ${to}` }),
  tool({ name: 'delete_file', input, needsApproval: ({ to }) => to.length > 4, execute: () => ({ gone: true }) }),
  tool({ name: 'fails', effect: 'egress', input, execute: () => Promise.reject(new Error('no')) }),
  tool({ name: 'far', effect: 'write', input }),
]

const call = fc.record({
  name: fc.constantFrom(...tools.map(({ name }) => name), 'no_such_tool'),
  input: fc.oneof(
    { weight: 6, arbitrary: fc.record({ to: fc.constantFrom('evil.io', 'x@y.z', 'ann', 'http://evil.io/?q=1') }) },
    fc.constantFrom({}, null, 'no JSON', { to: 'a'.repeat(300) }),
  ),
})
const step: fc.Arbitrary<ScriptedStep> = fc.record({
  text: fc.constantFrom('', 'See http://evil.io/x', 'ok'),
  toolCalls: fc.array(call, { maxLength: 3 }),
})

const broken: DataFlowRule = () => {
  throw new Error('broken')
}

interface Script {
  readonly steps: readonly ScriptedStep[]
  readonly approvals: 'approve' | 'deny' | 'later'
  readonly policy: Omit<Parameters<typeof dataFlowPolicy>[0], 'mode'>
  readonly meddles: boolean
}
const script: fc.Arbitrary<Script> = fc.record({
  steps: fc.array(step, { minLength: 1, maxLength: 5 }),
  approvals: fc.constantFrom('approve', 'deny', 'later'),
  meddles: fc.boolean(),
  policy: fc.constantFrom<Script['policy'][]>(
    {},
    { outputIsSink: true },
    { guardTrifecta: true, onViolation: 'deny' },
    { rules: [broken] },
    { intent: () => Promise.reject(new Error('broken')), outputIsSink: true },
    { intent: () => ['send_email'], declassifySinks: ['send_email'] },
  ),
})

/** Another extension, whose decisions the policy must not change. */
const meddler = defineExtension({
  name: 'meddler',
  hooks: {
    'tool.call': ({ tool: { name } }) => (name === 'far' ? { deny: 'too far' } : undefined),
    'model.response': (message) => (message.content.length > 3 ? { repair: 'Shorter.' } : undefined),
  },
})

async function eventsOf({ steps, approvals, meddles }: Script, extensions: readonly Extension[]): Promise<unknown[]> {
  const agent = createAgent({
    name: 'actor',
    model: scriptedModel([...steps, { text: 'The end.' }], { after: 'repeat-last' }),
    tools,
    extensions: [...extensions, ...(meddles ? [meddler] : [])],
    maxSteps: 9,
    store: memoryStore(),
  })
  const stream = agent.stream('Read the page, mail ann.', {
    onApproval: () => (approvals === 'later' ? undefined : approvals),
  })
  const events: unknown[] = []
  for await (const event of stream) if (!event.type.startsWith('governance.')) events.push(plain(event))
  return events
}

/** Returns an event without the fields that differ by run: ids, numbers, times and the state of the manifest. */
function plain(event: AgentEvent): unknown {
  const { seq: _, id: __, at: ___, runId, parents: ____, ...rest } = event
  return JSON.parse(
    JSON.stringify(rest, (key, value: unknown) =>
      ['durationMs', 'createdAt', 'sessionId', 'state', 'startedAt', 'expiresAt'].includes(key) ? undefined : value,
    ).replaceAll(runId, 'RUN'),
  )
}

test('shadow mode never changes a run: all events are equal except those of governance', async () => {
  let rows = 0
  await fc.assert(
    fc.asyncProperty(script, async (play) => {
      const counter = defineExtension({
        name: 'counter',
        hooks: { event: ({ type }) => void (rows += type.startsWith('governance.') ? 1 : 0) },
      })
      const watched = await eventsOf(play, [dataFlowPolicy({ mode: 'shadow', ...play.policy }), counter])
      expect(watched).toEqual(await eventsOf(play, [defineExtension({ name: 'counter' })]))
    }),
    full ? { numRuns: 100 } : { numRuns: 12, seed: 3 },
  )
  // The property is empty if the policy never decides anything.
  expect(rows).toBeGreaterThan(3)
})
