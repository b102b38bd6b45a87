import { createAgent } from '@provost/agent'
import type { Hooks, ToolResult } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { rich, tool } from '@provost/tools'
import { expect, test } from 'vitest'
import { z } from 'zod'

import { entriesOf, extension, watch } from '../hooks/hook-scenario.ts'

const pin = '4711-0815'
const none = z.object({})

/** Runs a composite whose nested call of `read` has a value that its output does not show. */
async function readInside(hook: NonNullable<Hooks['tool.result']>, padding = 0) {
  const received: ToolResult[] = []
  const read = tool({
    name: 'read',
    effect: 'read',
    input: none,
    execute: () =>
      rich({ pin, padding: 'x'.repeat(padding) }, { content: [{ type: 'text', text: 'A PIN was read.' }] }),
  })
  const script = tool({
    name: 'script',
    composite: true,
    input: none,
    async execute(_, ctx) {
      received.push(await ctx.call('read', {}, { key: 'read' }))
      return 'done'
    },
  })
  const store = memoryStore()
  const agent = createAgent({
    name: 'a',
    store,
    model: scriptedModel([{ toolCalls: [{ name: 'script', input: {} }] }, { text: 'end' }]),
    tools: [read, script],
    hostBytes: 100_000,
    extensions: [
      extension('guard', {
        'tool.result': (result, ctx) => (result.tool.name === 'read' ? hook(result, ctx) : undefined),
      }),
    ],
  })
  const { events, result } = await watch(agent.stream('go'))
  const entries = await entriesOf(store, result.sessionId)
  return { received, error: result.error, recorded: JSON.stringify([entries, events, result.messages]) }
}

test('a nested call passes the value of its result to the composite and to the log', async () => {
  const { received, recorded } = await readInside(() => undefined)
  expect(received).toMatchObject([{ outcome: 'ok', value: { pin } }])
  expect(recorded).toContain(pin)
})

test('a nested result that a failed check withholds has no value, for the composite and in the log', async () => {
  const { received, recorded } = await readInside(() => {
    throw new Error('cannot read')
  })
  expect(received).toMatchObject([{ outcome: 'error', output: { value: 'The result was withheld: a check failed.' } }])
  expect(received[0]).not.toHaveProperty('value')
  expect(recorded).not.toContain(pin)
})

test('a nested result at which a hook stops the run leaves no value in the log', async () => {
  const { error, recorded } = await readInside((_, ctx) => ctx.stop('enough', 'That is enough.'))
  expect(error).toMatchObject({ code: 'enough' })
  expect(recorded).toContain('The run was stopped.')
  expect(recorded).not.toContain(pin)
})

test('a nested result above the byte limit leaves no value in the log', async () => {
  const { error, recorded } = await readInside(() => undefined, 200_000)
  expect(error).toMatchObject({ code: 'host-bytes-exceeded' })
  expect(recorded).toContain('it exceeds the byte limits of the run')
  expect(recorded).not.toContain(pin)
})
