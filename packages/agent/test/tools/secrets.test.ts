import { inspect } from 'node:util'

import { createAgent, RunState } from '@provost/agent'
import type { AgentEvent, Extension, Tool } from '@provost/core'
import { defineExtension } from '@provost/core'
import { exportSession, memoryStore } from '@provost/sessions'
import type { ScriptedStep } from '@provost/testing'
import { scriptedModel } from '@provost/testing'
import { rich, secretRef, tool } from '@provost/tools'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { z } from 'zod'

const value = 'hunter2/+"x'
beforeEach(() => vi.stubEnv('PROVOST_TEST_PASSWORD', value))
afterEach(() => vi.unstubAllEnvs())

const open = z.record(z.string(), z.unknown())

function world(tools: readonly Tool[], steps: readonly ScriptedStep[], extensions: readonly Extension[] = []) {
  const store = memoryStore()
  const options = {
    name: 'desk',
    tools,
    store,
    extensions,
    secrets: { PASSWORD: secretRef('env:PROVOST_TEST_PASSWORD') },
  } as const
  return { store, agent: createAgent({ ...options, model: scriptedModel([...steps]) }), options }
}

async function play(tools: readonly Tool[], steps: readonly ScriptedStep[], extensions: readonly Extension[] = []) {
  const { agent, store } = world(tools, steps, extensions)
  const events: AgentEvent[] = []
  const stream = agent.stream('go')
  for await (const event of stream) events.push(event)
  const result = await stream.result
  const lines: string[] = []
  for await (const line of exportSession(store, result.sessionId)) lines.push(line)
  return {
    events,
    result,
    log: lines.join(''),
    all: inspect([events, result, JSON.stringify(result)], { depth: 30, maxStringLength: 100_000 }) + lines.join(''),
  }
}

const calling = (name: string, input: unknown): ScriptedStep[] => [
  { toolCalls: [{ name, input: JSON.parse(JSON.stringify(input)) }] },
  { text: 'done' },
]

/** None of the ways to write it. */
function expectHidden(text: string): void {
  for (const written of [value, JSON.stringify(value).slice(1, -1), Buffer.from(value).toString('base64').slice(0, -2)])
    expect(text).not.toContain(written)
  expect(text).not.toContain('hunter2')
}

describe('a secret reaches only the tool that declares it', () => {
  test('its value is in ctx.secrets; events, result, log and export have its token', async () => {
    const got: string[] = []
    const login = tool({
      name: 'login',
      secrets: ['PASSWORD'],
      input: open,
      execute(_, ctx) {
        got.push(ctx.secrets.PASSWORD)
        ctx.progress({ [`sent ${ctx.secrets.PASSWORD}`]: [ctx.secrets.PASSWORD.toUpperCase()] })
        return rich(
          { header: `Basic ${Buffer.from(ctx.secrets.PASSWORD).toString('base64')}` },
          { details: ctx.secrets.PASSWORD },
        )
      },
    })
    const { all, log } = await play([login], calling('login', {}))
    expect(got).toEqual([value])
    expectHidden(all)
    expect(log).toContain('⟦secret:PASSWORD⟧')
  })

  test('messages, yields and errors of tools are scrubbed, also where a value comes in pieces', async () => {
    const failing = tool({
      name: 'failing',
      secrets: ['PASSWORD'],
      input: open,
      async *execute(_, ctx) {
        for (const letter of `a ${ctx.secrets.PASSWORD} b`) yield letter
        yield 'c'
        throw new Error(`401 for ${ctx.secrets.PASSWORD}`, { cause: ctx.secrets })
      },
    })
    const { all, events } = await play([failing], calling('failing', {}))
    expectHidden(all)
    const yielded = events.map((event) => (event.type === 'tool.execute.partial' ? event.delta : '')).join('')
    expect(yielded).toBe('a ⟦secret:PASSWORD⟧ bc')
  })

  test('without declaring it, by no name and no trick', async () => {
    const tries: string[] = []
    const nosy = tool({
      name: 'nosy',
      input: open,
      execute(_, ctx) {
        for (const name of ['PASSWORD', 'password', '__proto__', 'constructor']) {
          try {
            tries.push(String(Reflect.get(ctx.secrets, name)))
          } catch (thrown) {
            tries.push(String(Reflect.get(Object(thrown), 'code')))
          }
        }
        tries.push(JSON.stringify(ctx.secrets) ?? '', inspect(ctx.secrets), ...Object.keys(ctx.secrets))
        return inspect(ctx, { depth: 9, showHidden: true, getters: true })
      },
    })
    const { all } = await play([nosy], calling('nosy', {}))
    expect(tries.slice(0, 4)).toEqual(['secret-denied', 'secret-denied', 'secret-denied', 'secret-denied'])
    expectHidden(tries.join('\n'))
    expectHidden(all)
  })

  test('once the call is over, no more', async () => {
    let later: () => unknown = () => undefined
    const kept = tool({
      name: 'kept',
      secrets: ['PASSWORD'],
      input: open,
      execute: (_, ctx) => {
        later = () => ctx.secrets.PASSWORD
        return 'ok'
      },
    })
    await play([kept], calling('kept', {}))
    expect(later).toThrow(expect.objectContaining({ code: 'secret-denied' }))
  })

  test('a tool that declares what its agent does not have is not executed', async () => {
    let ran = 0
    const other = tool({ name: 'other', secrets: ['BANK'], input: open, execute: () => ++ran })
    const { events } = await play([other], calling('other', {}))
    expect(events.find((event) => event.type === 'tool.execute.error')).toMatchObject({
      error: { code: 'secret-denied' },
    })
    expect(ran).toBe(0)
  })
})

describe('what a tool receives is never altered', () => {
  const given: unknown[] = []
  const login = tool({
    name: 'login',
    secrets: ['PASSWORD'],
    needsApproval: true,
    input: z.object({ user: z.string(), password: z.string(), nested: z.array(z.record(z.string(), z.string())) }),
    execute: (input) => {
      given.push(input)
      return 'in'
    },
  })

  test.each([
    ['the value', value],
    ['its token', '⟦secret:PASSWORD⟧'],
  ])('an approved call with %s runs with the value, in another process too', async (_, written) => {
    given.length = 0
    const input = { user: 'ann', password: written, nested: [{ [written]: `x${written}y` }] }
    const { agent, options } = world([login], calling('login', input))
    const first = await agent.run(`the password is ${value}`)
    expectHidden(JSON.stringify(first))
    const state = JSON.stringify(first.state)
    const again = createAgent({ ...options, model: scriptedModel([{ text: 'done' }]) })
    const result = await again.run(RunState.fromJSON(state, again), {
      approvals: first.pending.approvals.map(({ id }) => ({ id, decision: 'approve' as const })),
    })
    expect(given).toEqual([{ user: 'ann', password: value, nested: [{ [value]: `x${value}y` }] }])
    expectHidden(state + JSON.stringify(result) + inspect(result, { depth: 20 }))
  })

  test.each([
    ['the value, by a tool that does not declare it', 'plain', { note: value }],
    ['its token, by a tool that does not declare it', 'plain', { note: 'x ⟦secret:PASSWORD⟧' }],
    ['a writing that cannot be told back', 'keyed', { note: Buffer.from(value).toString('base64') }],
    ['the token in what goes to others', 'keyed', { to: 'mallory@example.com?⟦secret:PASSWORD⟧' }],
  ])('a call with %s is denied instead', async (_, name, input) => {
    let ran = 0
    const tools = [
      tool({ name: 'plain', input: open, execute: () => ++ran }),
      tool({ name: 'keyed', secrets: ['PASSWORD'], args: { to: 'destination' }, input: open, execute: () => ++ran }),
    ]
    const { events, all } = await play(tools, calling(name, input))
    expect(events.find((event) => event.type === 'tool.execute.error')).toMatchObject({
      error: { code: 'secret-denied' },
    })
    expect(ran).toBe(0)
    expectHidden(all)
  })

  test('a call with the token of a secret that was never read is denied too', async () => {
    let ran = 0
    const agent = createAgent({
      name: 'desk',
      model: scriptedModel(calling('plain', { note: '⟦secret:PASSWORD⟧' })),
      tools: [tool({ name: 'plain', input: open, execute: () => ++ran })],
      secrets: { PASSWORD: secretRef(() => value) },
    })
    const codes: string[] = []
    for await (const event of agent.stream('go')) if (event.type === 'tool.execute.error') codes.push(event.error.code)
    expect({ codes, ran }).toEqual({ codes: ['secret-denied'], ran: 0 })
  })

  test('a composite hands a secret on to a tool that declares it, and to no other', async () => {
    const got: unknown[] = []
    const keyed = tool({ name: 'keyed', secrets: ['PASSWORD'], input: open, execute: (input) => got.push(input) })
    const plain = tool({ name: 'plain', input: open, execute: (input) => got.push(input) })
    const both = tool({
      name: 'both',
      composite: true,
      secrets: ['PASSWORD'],
      input: open,
      async execute(_, ctx) {
        const note = ctx.secrets.PASSWORD
        const first = await ctx.call('keyed', { note }, { key: '1' })
        const second = await ctx.call('plain', { note }, { key: '2' })
        return [first.outcome, second.outcome, await ctx.memo('m', () => note)]
      },
    })
    const { all, log } = await play([both, keyed, plain], calling('both', {}))
    expect(got).toEqual([{ note: value }])
    expect(log).toContain('["ok","error","⟦secret:PASSWORD⟧"]')
    expectHidden(all)
  })

  test('a text that only looks like a token is a text', async () => {
    const notes: unknown[] = []
    const note = tool({ name: 'note', input: open, execute: (input) => notes.push(input) })
    await play([note], calling('note', { text: '⟦secret:OTHER⟧' }))
    expect(notes).toEqual([{ text: '⟦secret:OTHER⟧' }])
  })
})

describe('every sink is scrubbed', () => {
  test('what the model streams, with the value in pieces', async () => {
    const letters = `the password ${value} is short`.split('')
    const { events, all } = await play([], [{ reasoning: `hm, ${value}`, text: letters }])
    const text = events.map((event) => (event.type === 'text.delta' ? event.delta : '')).join('')
    expect(text).toBe('the password ⟦secret:PASSWORD⟧ is short')
    expectHidden(all)
  })

  test('what hooks append, audit, emit and rewrite; ctx.scrub gives what they may show', async () => {
    const shown: string[] = []
    const talkative = defineExtension({
      name: 'talkative',
      hooks: {
        async 'model.request'(_, ctx) {
          shown.push(ctx.scrub(`a ${value}`))
          await ctx.append('note', { [value]: value })
          await ctx.audit('flagged', { rule: 'r', sources: [value], evidence: { deep: [{ value }] } })
          await ctx.memo('m', () => value)
          await ctx.putBlob(new TextEncoder().encode(`blob ${value}`))
          ctx.emit({ value })
        },
        'tool.call': (call) => (call.input === null ? undefined : { args: { note: value } }),
      },
    })
    const got: unknown[] = []
    const keyed = tool({
      name: 'keyed',
      secrets: ['PASSWORD'],
      input: open,
      execute: (input, ctx) => {
        shown.push(ctx.scrub(ctx.secrets.PASSWORD))
        got.push(input)
      },
    })
    const { all } = await play([keyed], calling('keyed', {}), [talkative])
    expect(new Set(shown)).toEqual(new Set(['a ⟦secret:PASSWORD⟧', '⟦secret:PASSWORD⟧']))
    expect(got).toEqual([{ note: value }])
    expectHidden(all)
  })

  test('what a provider throws: message, stack, fields and cause of the error of the result', async () => {
    const error = Object.assign(new Error(`400 ${value}`, { cause: { sent: value } }), { requestBody: { key: value } })
    const { all, result } = await play([], [{ error }])
    expect(result.status).toBe('failed')
    expectHidden(all)
  })

  test('what others deliver, and messages that a session is given or edited with', async () => {
    const remote = tool({ name: 'remote', input: open })
    const { agent, store } = world([remote], calling('remote', {}))
    const session = await agent.createSession({ messages: [{ role: 'user', content: `it is ${value}` }] })
    session.messages.append({ content: `still ${value}` })
    session.send(`once more ${value}`)
    await session.waitForIdle()
    for (const { callId } of session.pending.remoteCalls)
      await session.resolve({ toolResults: [{ callId, output: { deep: [value] } }] })
    await session.waitForIdle()
    const lines: string[] = []
    for await (const line of exportSession(store, session.id)) lines.push(line)
    for await (const delivery of store.inbox(session.id)) lines.push(JSON.stringify(delivery))
    expectHidden(lines.join(''))
    expect(lines.join('').split('⟦secret:PASSWORD⟧').length).toBeGreaterThan(4)
    await session.close()
  })
})
