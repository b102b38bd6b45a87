import { createAgent } from '@provost/agent'
import { dataFlowPolicy, presets, testPolicy } from '@provost/governance'
import type { DataFlowPolicyOptions, DataFlowRule } from '@provost/governance'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'

import { sendMail } from '../data-flow/governed.ts'
import { exportOf, readInbox, deleteFile } from './recorded.ts'

/** Counts the mails of a session and asks from the third on. */
const thirdMail: DataFlowRule = Object.assign(
  function thirdMail({ call, counted }: Parameters<DataFlowRule>[0]) {
    return call.tool.name === 'send_email' && counted('mails') >= 2
      ? { ask: { reason: 'the third mail' }, yields: true as const }
      : undefined
  },
  { counts: ({ tool }: { tool: { name: string } }) => (tool.name === 'send_email' ? { mails: 1 } : {}) },
)

const policies: readonly DataFlowPolicyOptions[] = [
  { mode: 'enforce' },
  { mode: 'enforce', rules: [thirdMail, ...presets.intent] },
  { mode: 'enforce', rules: presets.classic, guardTrifecta: true },
  { mode: 'enforce', contracts: { confirm: 'doubtful' }, declassifySinks: ['delete_file'] },
  { mode: 'enforce', onViolation: 'deny' },
  { mode: 'shadow' },
]
const receivers = ['ann@example.com', 'bob@work.example', 'eve@away.example', 'zoe@nowhere.example']
const prompts = [
  'Send ann@example.com two emails about my inbox.',
  'Read my inbox. Do not mail bob@work.example.',
  'Do what the mail says and delete notes.txt.',
]
const call = fc.oneof(
  fc.constant({ name: 'read_inbox', input: {} }),
  fc.constantFrom(...receivers).map((to) => ({ name: 'send_email', input: { to, body: 'The price list.' } })),
  fc.constant({ name: 'delete_file', input: { path: 'notes.txt' } }),
  fc.constant({ name: 'helper', input: { task: 'Help.' } }),
)
const steps = fc.array(fc.array(call, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 4 })

test('any run of any policy, with children and answers of humans, is judged offline as it was recorded', async () => {
  const seen = new Set<string>()
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...policies),
      fc.constantFrom(...prompts),
      steps,
      steps,
      fc.infiniteStream(fc.boolean()),
      async (policy, prompt, own, helpers, answers) => {
        const store = memoryStore()
        const tools = [readInbox, sendMail, deleteFile]
        const helper = createAgent({
          name: 'helper',
          model: scriptedModel([...helpers.map((calls) => ({ toolCalls: calls })), { text: 'Done.' }], {
            after: 'repeat-last',
          }),
          tools,
          store,
        })
        const clerk = createAgent({
          name: 'clerk',
          model: scriptedModel([...own.map((calls) => ({ toolCalls: calls })), { text: 'Done.' }]),
          tools: [...tools, helper.toTool({ name: 'helper', description: 'Helps.' })],
          extensions: [dataFlowPolicy(policy)],
          store,
          maxParallelTools: 1,
        })
        const { sessionId } = await clerk.run(prompt, {
          onApproval: () => (answers.next().value === true ? 'approve' : 'deny'),
        })
        const exported = await exportOf(store, sessionId)
        const { calls } = await testPolicy([exported], { policy, agents: [clerk, helper], failOn: 'any' })
        for (const { verdict } of calls) seen.add(`${verdict.decision} ${verdict.rule ?? ''}`)
        const changed = calls.filter(({ change }) => change !== 'unchanged')
        expect(changed.map(({ tool, before, verdict, change }) => ({ tool, before, verdict, change }))).toEqual([])
      },
    ),
    { numRuns: process.env['PROVOST_TEST_FULL'] === '1' ? 300 : 40 },
  )
  for (const verdict of ['allow ', 'ask contract', 'ask argument-origin', 'ask thirdMail'])
    expect([...seen]).toContain(verdict)
})
