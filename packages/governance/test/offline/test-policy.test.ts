import { createAgent } from '@provost/agent'
import type { Entry } from '@provost/core'
import { isRecord } from '@provost/core'
import { dataFlowPolicy, presets, testPolicy } from '@provost/governance'
import type { DataFlowPolicyOptions, DataFlowRule } from '@provost/governance'
import { approvalPolicy } from '@provost/governance'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { expect, test } from 'vitest'

import { sendMail } from '../data-flow/governed.ts'
import { deleteFile, exportOf, inbox, mailTo, readInbox, record } from './recorded.ts'

const today: DataFlowPolicyOptions = { mode: 'enforce' }
const nothingToOutsiders: DataFlowRule = ({ values }) =>
  values.some(({ role, value }) => role === 'destination' && !value.endsWith('@example.com'))
    ? { deny: 'Mail stays in the house.' }
    : undefined
const house: DataFlowPolicyOptions = { mode: 'enforce', rules: [nothingToOutsiders, ...presets.intent] }
const noRules: DataFlowPolicyOptions = { mode: 'enforce', rules: [] }

/** Returns the entries of an export with one log. */
function entriesIn(exported: string): readonly Entry[] {
  const lines = exported
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  return lines.filter(({ type }) => type === 'entry').map(({ entry }) => entry)
}

const pairs = (calls: readonly { before: { decision: string }; verdict: { decision: string }; change: string }[]) =>
  calls.map(({ before, verdict, change }) => `${before.decision} → ${verdict.decision}: ${change}`)

test('the policy of the run gives the recorded verdicts again: origins, contracts, counts of calls and approvals', async () => {
  const steps = [inbox, mailTo('ann@example.com'), mailTo('ann@example.com'), mailTo('eve@away.example')]
  const answers = ['approve', 'deny'] as const
  for (const answer of answers) {
    const both = {
      toolCalls: [...(mailTo('ann@example.com').toolCalls ?? []), ...(mailTo('bob@work.example').toolCalls ?? [])],
    }
    const { agent, exported } = await record([...steps, both], { answer })
    const { ok, calls, counts } = await testPolicy([exported], { policy: today, agents: [agent], failOn: 'any' })
    expect(pairs(calls)).toEqual([
      'allow → allow: unchanged',
      'ask → ask: unchanged',
      'ask → ask: unchanged',
      'ask → ask: unchanged',
      'ask → ask: unchanged',
    ])
    expect(calls.map(({ verdict }) => verdict.rule)).toEqual([
      undefined,
      'contract',
      'argument-origin',
      'contract',
      'argument-origin',
    ])
    expect(ok).toBe(true)
    expect(counts.unchanged).toBe(5)
  }
})

test('a stricter policy tightens; what follows in the same run is counterfactual', async () => {
  const { agent, exported } = await record([inbox, mailTo('eve@away.example'), mailTo('ann@example.com')], {
    answer: 'approve',
  })
  const strict = await testPolicy([exported], { policy: house, agents: [agent], failOn: 'tightened' })
  expect(strict.ok).toBe(false)
  // The record counts the call that ran, so the next one exceeds the contract under both policies.
  expect(pairs(strict.calls)).toEqual(['ask → deny: tightened', 'ask → ask: unchanged'])
  expect(strict.calls.map(({ counterfactual }) => counterfactual)).toEqual([false, true])
  expect(strict.calls[0]?.verdict).toMatchObject({ rule: 'nothingToOutsiders', reason: 'Mail stays in the house.' })
  expect((await testPolicy([exported], { policy: house, agents: [agent], failOn: 'loosened' })).ok).toBe(true)
})

test('what a human had refused and a policy allows fails every test', async () => {
  const { agent, exported } = await record([inbox, mailTo('eve@away.example')], { answer: 'deny' })
  for (const failOn of ['loosened', 'tightened', 'any'] as const) {
    const { ok, calls } = await testPolicy([exported], { policy: noRules, agents: [agent], failOn })
    expect(pairs(calls)).toEqual(['ask → allow: now-allows-human-refused'])
    expect(calls[0]?.human).toEqual({ decision: 'deny', by: 'onApproval' })
    expect(ok).toBe(false)
  }
})

test('an approver who edits the arguments has refused the original ones', async () => {
  const { agent, exported } = await record([inbox, mailTo('eve@away.example')], {
    answer: () => ({ decision: 'approve', args: { to: 'ann@example.com', body: 'Hi.' } }),
  })
  const { calls } = await testPolicy([exported], { policy: noRules, agents: [agent] })
  expect(calls[0]?.human).toMatchObject({ decision: 'approve', edited: true })
  expect(calls[0]?.change).toBe('now-allows-human-refused')
})

test('a question less about a call that a human had approved is a loosening', async () => {
  const { agent, exported } = await record([inbox, mailTo('eve@away.example')], { answer: 'approve' })
  const { ok, calls } = await testPolicy([exported], { policy: noRules, agents: [agent] })
  expect(pairs(calls)).toEqual(['ask → allow: loosened'])
  expect(ok).toBe(false)
})

test('a question about a call that a human had approved for another reason has a name of its own', async () => {
  const { agent, exported } = await record([inbox, mailTo('eve@away.example')], {
    policy: false,
    extensions: [approvalPolicy(({ tool }) => (tool.effect === 'egress' ? { ask: { reason: 'mail' } } : 'allow'))],
    answer: 'approve',
  })
  const { calls } = await testPolicy([exported], { policy: today, agents: [agent] })
  expect(pairs(calls)).toEqual(['allow → ask: now-asks-human-agreed'])
})

test('the same verdict by another rule is a move', async () => {
  const { agent, exported } = await record([inbox, mailTo('eve@away.example')])
  const other: DataFlowRule = ({ values }) =>
    values.some(({ value }) => value === 'eve@away.example') ? { ask: { reason: 'Eve?' } } : undefined
  const policy: DataFlowPolicyOptions = { mode: 'enforce', rules: [other, ...presets.intent] }
  const { ok, calls } = await testPolicy([exported], { policy, agents: [agent] })
  expect(pairs(calls)).toEqual(['ask → ask: moved'])
  expect(ok).toBe(true)
  expect((await testPolicy([exported], { policy, agents: [agent], failOn: 'any' })).ok).toBe(false)
})

test('two policies are compared with each other', async () => {
  const { agent, exported } = await record([inbox, mailTo('eve@away.example')], { policy: false })
  const { calls } = await testPolicy([exported], { policy: house, against: today, agents: [agent] })
  expect(pairs(calls)).toEqual(['ask → deny: tightened'])
})

test('a shadow run is compared by what its policy would have decided', async () => {
  const { agent, exported } = await record([inbox, mailTo('eve@away.example')], { policy: { mode: 'shadow' } })
  const { calls } = await testPolicy([exported], { policy: today, agents: [agent] })
  expect(pairs(calls)).toEqual(['ask → ask: unchanged'])
  expect(calls[0]?.ran).toBe(true)
})

test('a call of an unknown agent or tool, and a policy that needs a model or the app, cannot be judged', async () => {
  const { agent, exported } = await record([inbox, mailTo('ann@example.com')])
  const stranger = createAgent({ name: 'stranger', model: scriptedModel([]), tools: [] })
  const toolless = createAgent({ name: 'clerk', model: scriptedModel([]), tools: [readInbox] })
  const inApp: DataFlowRule = (_, { context }) => (context === 'x' ? undefined : { allow: true })
  const byModel: DataFlowRule = async (_, ctx) => {
    await ctx.generate({ prompt: 'Is this fine?' })
    return { allow: true }
  }
  const cases = [
    [{ policy: noRules, agents: [stranger] }, 'the agent clerk'],
    [{ policy: noRules, agents: [toolless] }, 'the definition of the tool send_email'],
    [{ policy: { ...today, rules: [inApp] }, agents: [agent] }, 'the app value of the run'],
    [{ policy: { ...today, rules: [byModel] }, agents: [agent] }, 'the answer of a model that the policy calls'],
  ] as const
  for (const [options, missing] of cases) {
    const { ok, calls } = await testPolicy([exported], { ...options, failOn: 'tightened' })
    const last = calls.at(-1)
    expect(last).toMatchObject({ change: 'cannot-judge', verdict: { decision: 'unknown', missing: [missing] } })
    expect(ok).toBe(false)
  }
  const { counts } = await testPolicy([exported], { policy: today, agents: [toolless], tools: [sendMail] })
  expect(counts['cannot-judge']).toBe(0)
})

test('a call whose request was removed from a log cannot be judged', async () => {
  const { agent, exported } = await record([inbox, mailTo('ann@example.com')])
  const entries = entriesIn(exported).filter(({ id }) => !id.endsWith('/2/message/1'))
  const { ok, calls } = await testPolicy([entries], { policy: noRules, agents: [agent] })
  expect(calls.map(({ verdict }) => verdict.missing)).toEqual([['the request for the call']])
  expect(ok).toBe(false)
})

test('contracts are those of the log, and derived again with `rederive`', async () => {
  const { agent, exported } = await record([inbox, mailTo('ann@example.com'), mailTo('ann@example.com')])
  // Another turn in the record, as if a release understood one call less.
  const entries = entriesIn(exported).map((entry): Entry => {
    if (entry.type !== 'memo' || !entry.key.includes('/contract/') || !isRecord(entry.value)) return entry
    return { ...entry, value: { ...entry.value, grants: [], understood: true } }
  })
  const judge = async (rederive: boolean) => {
    const { calls } = await testPolicy([entries], { policy: today, agents: [agent], rederive })
    return calls.map(({ verdict }) => verdict.decision)
  }
  expect(await judge(false)).toEqual(['ask', 'ask'])
  expect(await judge(true)).toEqual(['allow', 'ask'])
})

test('calls of a child are judged with the words and the contract of the human above it', async () => {
  const store = memoryStore()
  const policy = dataFlowPolicy(today)
  const clerk = createAgent({
    name: 'clerk',
    model: scriptedModel([inbox, mailTo('ann@example.com'), mailTo('ann@example.com'), { text: 'Sent.' }]),
    tools: [readInbox, sendMail, deleteFile],
    store,
  })
  const desk = createAgent({
    name: 'desk',
    model: scriptedModel([{ toolCalls: [{ name: 'clerk', input: { task: 'Mail her.' } }] }, { text: 'Done.' }]),
    tools: [clerk.toTool({ name: 'clerk', description: 'Does mail.' }), sendMail],
    extensions: [policy],
    store,
  })
  const { sessionId } = await desk.run('Send ann@example.com an email that sums up my inbox.', {
    onApproval: () => 'deny',
  })
  const exported = await exportOf(store, sessionId)
  const { calls } = await testPolicy([exported], { policy: today, agents: [desk, clerk], failOn: 'any' })
  const sent = calls.filter(({ tool }) => tool === 'send_email')
  expect(pairs(sent)).toEqual(['allow → allow: unchanged', 'ask → ask: unchanged'])
  expect(sent.map(({ verdict }) => verdict.rule)).toEqual([undefined, 'contract'])
  expect(new Set(sent.map(({ rootId }) => rootId)).size).toBe(1)
  expect(sent[0]?.runId).not.toBe(sent[0]?.rootId)
})

test('an export that is damaged, cut off, or made for readers outside is not judged', async () => {
  const { agent, exported } = await record([inbox, mailTo('ann@example.com')])
  const lines = exported.split('\n')
  const damaged = [
    exported.replace('ann@example.com', 'eve@example.com'),
    lines.slice(0, -2).join('\n'),
    exported.replace('{"type":"header"', '{"type":"header","for":"outside"'),
    '{"type":"call","op":"decided"}',
    'no JSON',
    '',
  ]
  for (const text of damaged)
    await expect(testPolicy([text], { policy: today, agents: [agent] })).rejects.toMatchObject({
      code: 'unreadable-export',
    })
})

test('coverage counts what each rule received, answered and decided, and what the tools declare', async () => {
  const { agent, exported } = await record([inbox, mailTo('eve@away.example'), mailTo('ann@example.com')])
  const { coverage } = await testPolicy([exported], { policy: today, agents: [agent] })
  const rule = (name: string) => coverage.rules.find((one) => one.rule === name)
  expect(rule('argument-origin')).toEqual({ rule: 'argument-origin', evaluated: 2, hit: 1, decisive: 1, refused: 1 })
  expect(rule('intent')).toMatchObject({ evaluated: 1, hit: 0, decisive: 0 })
  expect(rule('fetched-address')).toMatchObject({ evaluated: 2, hit: 0 })
  expect(coverage.tools).toEqual([{ tool: 'send_email', calls: 2, undeclared: false, guessed: 0 }])
  expect(coverage.origins).toContainEqual({ role: 'destination', origin: 'prose', values: 1 })
  expect(coverage.grants).toContainEqual({ tool: 'send_email', grants: 1, unused: 0 })
})
