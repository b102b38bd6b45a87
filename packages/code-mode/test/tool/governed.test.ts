import { createAgent } from '@provost/agent'
import type { AgentEvent, Extension, Json, Tool } from '@provost/core'
import { budget } from '@provost/governance'
import { exportSession, memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { secretRef, tool } from '@provost/tools'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

import { codeMode } from '../fixture/subject.ts'

const look = tool({ name: 'look', effect: 'read', input: z.object({}), execute: () => 'seen' })

/** The result of a script: for the model, in the events, and in the log. */
async function scripted(source: string, tools: readonly Tool[], extensions: readonly Extension<unknown>[] = []) {
  const store = memoryStore()
  const told: string[] = []
  const agent = createAgent({
    name: 'desk',
    store,
    tools,
    secrets: { TOKEN: secretRef(() => 'hunter2-7741-9982') },
    extensions: [codeMode({ workers: 1 }), ...extensions],
    model: scriptedModel([
      { toolCalls: [{ name: 'code_execute', input: { source } }] },
      ({ messages }) => {
        told.push(JSON.stringify(messages.at(-1)))
        return { text: 'done' }
      },
    ]),
  })
  const stream = agent.stream('Go.')
  const events: AgentEvent[] = []
  for await (const event of stream) events.push(event)
  const result = await stream.result
  const lines: string[] = []
  for await (const line of exportSession(store, result.sessionId)) lines.push(line)
  const failed = events.flatMap((event) =>
    event.type === 'tool.execute.error' ? [[event.toolName, event.error.code]] : [],
  )
  return { result, told: told.join(), failed, all: `${JSON.stringify(events)}${lines.join('')}` }
}

describe('secrets in a script', () => {
  const got: string[] = []
  const login = tool({
    name: 'login',
    secrets: ['TOKEN'],
    input: z.object({ user: z.string() }),
    execute: ({ user }, ctx) => `${got.push(ctx.secrets.TOKEN)} ${user} with ${ctx.secrets.TOKEN}`,
  })

  test('reach the tool that declares them; the script, the model and the log have only their tokens', async () => {
    const source = `const said = await tools.login({ user: 'ada' }); console.log(said); return [said, said.includes('hunter')]`
    const { told, all } = await scripted(source, [login])
    expect(got).toEqual(['hunter2-7741-9982'])
    expect(told).toContain('⟦secret:TOKEN⟧')
    expect(told).toContain('false')
    expect(all).not.toContain('7741')
  })

  test('are denied to a tool that does not declare them; a tool that declares an unknown secret does not run', async () => {
    let ran = 0
    const nosy = tool({
      name: 'nosy',
      input: z.object({}),
      execute: (_, ctx) => String(Reflect.get(ctx.secrets, 'TOKEN')),
    })
    const other = tool({ name: 'other', secrets: ['BANK'], input: z.object({}), execute: () => ++ran })
    const source = `const codes = []
for (const name of ['nosy', 'other']) try { await tools[name]({}) } catch (e) { codes.push(e.code) }
return codes`
    const { told, all } = await scripted(source, [nosy, other])
    expect(told).toContain(JSON.stringify({ result: ['secret-denied', 'secret-denied'] }))
    expect(ran).toBe(0)
    expect(all).not.toContain('7741')
  })
})

describe('a budget that is exhausted inside a script', () => {
  const told: Json[] = []
  const count = tool({ name: 'count', input: z.object({}), execute: () => told.push('ran') })

  test('denies further calls with an error that the script can catch', async () => {
    const source = `const codes = []
for (let n = 0; n < 4; n++) codes.push(await tools.look({}).then(() => 'ok', (e) => e.code))
return codes`
    const { result, told: seen } = await scripted(source, [look], [budget({ toolCalls: 3 })])
    expect(result.status).toBe('completed')
    expect(seen).toContain(JSON.stringify({ result: ['ok', 'ok', 'budget-exceeded', 'budget-exceeded'] }))
  })

  test('ends a script that does not catch the error, and reports why and where to the model', async () => {
    const source = `for (let n = 0; n < 4; n++)\n  await tools.count({})\nreturn 1`
    const { result, told: seen, failed } = await scripted(source, [count], [budget({ toolCalls: 3 })])
    expect(result.status).toBe('completed')
    expect(told).toEqual(['ran', 'ran'])
    expect(failed.at(-1)).toEqual(['code_execute', 'budget-exceeded'])
    expect(seen).toContain('The budget of 3 tool calls is used up.')
    expect(seen).toContain('line 2, column')
  })
})
