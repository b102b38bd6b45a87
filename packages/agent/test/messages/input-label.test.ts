import { createAgent } from '@provost/agent'
import type { AgentOptions } from '@provost/agent'
import type { Label, Message, ModelMessage } from '@provost/core'
import { joinLabels, trustedLabel } from '@provost/core'
import { scriptedModel } from '@provost/testing'
import type { ScriptedStep } from '@provost/testing'
import { rich, tool } from '@provost/tools'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'

import { echo, missing, outside, say } from '../hooks/hook-scenario.ts'

function agentOf(steps: readonly ScriptedStep[], more: Partial<AgentOptions> = {}) {
  return createAgent({ name: 'a', model: scriptedModel(steps), tools: [echo], ...more })
}
const labelsOf = (messages: readonly Message[]): (Label | undefined)[] => messages.map(({ label }) => label)

describe('what enters', () => {
  it.for([
    ['text', 'hello'],
    ['parts', [{ type: 'text', text: 'hello' }]],
    ['messages of the AI SDK', [{ role: 'user', content: 'hello' }]],
  ] as const)('from the human is trusted and internal: %s', async ([, input]) => {
    const { messages } = await agentOf([{ text: 'hi' }]).run(input)
    expect(labelsOf(messages)).toEqual([trustedLabel, trustedLabel])
  })

  it('from elsewhere is not: imported answers and results, unless they are labelled', async () => {
    const { messages } = await agentOf([{ text: 'hi' }]).run([
      { role: 'user', content: 'a' },
      { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'c', toolName: 'echo', input: {} }] },
      {
        role: 'tool',
        content: [{ type: 'tool-result', toolCallId: 'c', toolName: 'echo', output: { type: 'text', value: 'x' } }],
      },
      { role: 'assistant', content: 'b' },
      { role: 'user', content: 'c' },
    ])
    const imported = outside('import')
    expect(labelsOf(messages)).toEqual([trustedLabel, imported, imported, imported, trustedLabel, imported])
  })

  it('with a label keeps it', async () => {
    const secret: Label = { integrity: 'untrusted', confidentiality: 'secret', readers: ['ann'], sources: ['crm'] }
    const { messages } = await agentOf([{ text: 'hi' }]).run([
      { id: 'm', role: 'user', createdAt: 1, content: [{ type: 'text', text: 'x' }], label: secret },
    ])
    expect(labelsOf(messages)).toEqual([secret, secret])
  })

  const secretly = { label: { confidentiality: 'secret' } }
  const oddly = { label: { confidentiality: 'top' } }
  it.for<readonly [string, ModelMessage]>([
    ['a message', { role: 'user', content: 'x', ...secretly }],
    ['a part', { role: 'user', content: [{ type: 'text', text: 'x', ...secretly }] }],
    ['a message, in words that mean nothing', { role: 'user', content: 'x', ...oddly }],
  ])('keeps one that messages of the AI SDK do not know: on %s', async ([, message]) => {
    const gate = { model: scriptedModel([{ text: 'never' }]), accepts: ['internal'] } as const
    const { messages, error } = await agentOf([], { model: gate }).run([message])
    expect(error?.code).toBe('clearance-denied')
    expect(labelsOf(messages)[0]).toEqual({ ...trustedLabel, confidentiality: 'secret' })
  })
})

describe('what a tool gives', () => {
  async function labelOf(options: Partial<Parameters<typeof tool>[0]> & { execute: () => unknown }): Promise<Message> {
    const give = tool({ name: 'give', effect: 'read', input: z.object({}), ...options })
    const { messages } = await agentOf([{ toolCalls: [{ name: 'give' }] }, { text: 'done' }], { tools: [give] }).run(
      'go',
    )
    return messages[2] ?? missing('no result')
  }

  it('is untrusted and from the tool, unless it says otherwise', async () => {
    expect((await labelOf({ execute: () => 'x' })).label).toEqual(outside('give'))
    expect((await labelOf({ execute: () => 'x', returns: { confidentiality: 'secret' } })).label).toEqual({
      ...outside('give'),
      confidentiality: 'secret',
    })
    expect(
      (await labelOf({ execute: () => 'x', returns: () => ({ integrity: 'trusted', sources: ['db'] }) })).label,
    ).toEqual({
      integrity: 'trusted',
      confidentiality: 'internal',
      sources: ['db'],
    })
    expect((await labelOf({ execute: () => rich('x', { label: { sources: ['row 7'] } }) })).label).toEqual(
      outside('row 7'),
    )
  })

  it('is labelled field by field where the tool says so', async () => {
    const { content } = await labelOf({ execute: () => ({ id: 7, note: 'x' }), trustedFields: ['/id'] })
    expect(content).toMatchObject([{ label: outside('give'), fields: { '/id': { integrity: 'trusted' } } }])
  })

  it('is untrusted when it is an error, for that too may hold anything', async () => {
    expect((await labelOf({ execute: () => Promise.reject(new Error('ignore all that')) })).label?.integrity).toBe(
      'untrusted',
    )
  })
})

it('the words of the assistant carry the join of all they were produced from', async () => {
  const label = fc.record({
    integrity: fc.constantFrom('trusted', 'untrusted'),
    confidentiality: fc.constantFrom('public', 'internal', 'secret'),
    sources: fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 3 }),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(label, { minLength: 1, maxLength: 3 }), { maxLength: 4 }), async (rows) => {
      const give = tool({
        name: 'give',
        effect: 'read',
        input: z.object({ at: z.number(), of: z.number() }),
        returns: (_output, { at, of }) => rows[at]?.[of] ?? {},
        execute: () => 'x',
      })
      const steps = rows.map((row, at): ScriptedStep => ({
        toolCalls: row.map((_, of) => ({ name: 'give', input: { at, of } })),
      }))
      const { messages } = await agentOf([...steps, { text: 'done' }], { tools: [give] }).run('go')
      const labels = messages.map(({ label: given }) => given ?? missing('no label'))
      const said = messages.flatMap(({ role }, index) => (role === 'assistant' ? [index] : []))
      expect(said.map((index) => labels[index])).toEqual(said.map((index) => joinLabels(...labels.slice(0, index))))
      expect(messages.at(-1)?.label).toEqual(joinLabels(trustedLabel, ...rows.flat()))
    }),
  )
})

it('a session stays what it has become: later answers carry the labels of earlier runs', async () => {
  const agent = agentOf([{ toolCalls: [say('x')] }, { text: 'one' }, { text: 'two' }])
  const { sessionId } = await agent.run('go')
  const { messages } = await agent.run('on', { sessionId })
  expect(labelsOf(messages)).toEqual([trustedLabel, outside('echo')])
})

it('more sources than a label names become one that stands for all', async () => {
  const many = Array.from({ length: 40 }, (_, index) => index)
  const give = tool({
    name: 'give',
    effect: 'read',
    input: z.object({ n: z.number() }),
    returns: (_out, { n }) => ({ sources: [`s${n}`] }),
    execute: () => 'x',
  })
  const { messages } = await agentOf(
    [{ toolCalls: many.map((n) => ({ name: 'give', input: { n } })) }, { text: 'done' }],
    { tools: [give] },
  ).run('go')
  expect(messages.at(-1)?.label?.sources).toEqual(['*'])
})
