import { execFileSync } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'

import { createAgent, handoff } from '@provost/agent'
import type { AgentOptions } from '@provost/agent'
import type { AgentEvent, HookContext, Hooks, HookName } from '@provost/core'
import { defineExtension } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import type { ScriptedStep } from '@provost/testing'
import { tool } from '@provost/tools'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

import { fannedOut } from '../children/fan-out-world.ts'

const never = (): Promise<never> => new Promise(() => {})
const paying: ScriptedStep = { toolCalls: [{ name: 'pay', input: {} }] }

interface Seen {
  readonly status: string
  readonly code: string | undefined
  readonly paid: number
  readonly told: string
  readonly reported: readonly string[]
}

/** Runs an agent whose hook does not answer within 20 ms. */
async function run(hooks: Hooks, more: Partial<AgentOptions> = {}): Promise<Seen> {
  let paid = 0
  let told = ''
  const pay = tool({ name: 'pay', input: z.object({}), execute: () => `paid ${++paid}` })
  const agent = createAgent({
    name: 'a',
    model: scriptedModel(
      [
        ({ messages }) => {
          const last = messages.at(-1)
          told = last?.role === 'tool' ? JSON.stringify(last.content) : told
          return last?.role === 'tool' ? { text: 'done' } : paying
        },
      ],
      { after: 'repeat-last' },
    ),
    tools: [pay],
    extensions: [defineExtension({ name: 'slow', hooks })],
    hookTimeoutMs: 20,
    settings: { maxRetries: 0 },
    ...more,
    output: undefined,
  })
  const events: AgentEvent[] = []
  const stream = agent.stream('go')
  for await (const event of stream) events.push(event)
  const { status, error } = await stream.result
  const reported = events.flatMap((event) => (event.type === 'agent.error' ? [event.error.code] : []))
  return { status, code: error?.code, paid, told, reported }
}

describe('a hook that does not answer in time counts as thrown', () => {
  test.each<[HookName, Hooks]>([
    ['session.start', { 'session.start': never }],
    ['run.start', { 'run.start': never }],
    ['input', { input: never }],
    ['context', { context: never }],
    ['model.request', { 'model.request': never }],
    ['model.call', { 'model.call': never }],
    ['model.response', { 'model.response': never }],
  ])('%s: the run fails', async (_, hooks) => {
    const seen = await run(hooks)
    expect(seen).toMatchObject({ status: 'failed', code: 'hook-failed', paid: 0 })
    // The event has the error of the run, as `agent.end` has it.
    expect(seen.reported).toEqual(['hook-failed'])
  })

  test('model.error: the run fails', async () => {
    const model = scriptedModel([{ error: new Error('down') }])
    expect(await run({ 'model.error': never }, { model })).toMatchObject({ status: 'failed', code: 'hook-failed' })
  })

  test('tool.call: the call is denied', async () => {
    const seen = await run({ 'tool.call': never })
    expect(seen).toMatchObject({ status: 'completed', paid: 0 })
    expect(seen.told).toContain('slow failed to check this call')
    expect(seen.reported).toEqual(['hook-timeout'])
  })

  test('tool.result: the result is withheld', async () => {
    const seen = await run({ 'tool.result': never })
    expect(seen).toMatchObject({ status: 'completed', paid: 1 })
    expect(seen.told).not.toContain('paid 1')
    expect(seen.told).toContain('withheld')
  })

  test('needsApproval: the call is denied', async () => {
    let paid = 0
    const tools = [tool({ name: 'pay', input: z.object({}), needsApproval: never, execute: () => ++paid })]
    expect(await run({}, { tools })).toMatchObject({
      status: 'completed',
      told: expect.stringContaining('needsApproval of pay failed'),
    })
    expect(paid).toBe(0)
  })

  test('instructions: the run fails', async () => {
    expect(await run({}, { instructions: never })).toMatchObject({ status: 'failed', code: 'hook-failed' })
  })

  test('run.end: the run ends all the same', async () => {
    const seen = await run({ 'run.end': never })
    expect(seen).toMatchObject({ status: 'completed', paid: 1, reported: ['hook-timeout'] })
  })

  test('a listener of a session: the call is denied', async () => {
    let paid = 0
    const agent = createAgent({
      name: 'a',
      model: scriptedModel([paying, { text: 'done' }]),
      tools: [tool({ name: 'pay', input: z.object({}), execute: () => ++paid })],
      hookTimeoutMs: 20,
    })
    const session = await agent.createSession()
    session.on('tool.call', never)
    session.send('go')
    await session.waitForIdle()
    expect(paid).toBe(0)
  })

  test('handoff: nothing crosses', async () => {
    let asked = 0
    const target = createAgent({ name: 'target', model: scriptedModel([() => (asked++, { text: 'mine' })]) })
    const agent = createAgent({
      name: 'a',
      model: scriptedModel([{ toolCalls: [{ name: 'transfer_to_target', input: {} }] }, { text: 'then I do it' }]),
      handoffs: [handoff(target)],
      extensions: [defineExtension({ name: 'slow', hooks: { handoff: never } })],
      hookTimeoutMs: 20,
    })
    expect(await agent.run('go')).toMatchObject({ status: 'completed', text: 'then I do it' })
    expect(asked).toBe(0)
  })

  test('merge: nothing is merged', async () => {
    const child = createAgent({ name: 'c', model: scriptedModel([{ text: 'one' }]) })
    const agent = createAgent({
      name: 'a',
      model: scriptedModel([]),
      extensions: [defineExtension({ name: 'slow', scope: 'tree', hooks: { merge: never } })],
      hookTimeoutMs: 20,
    })
    const merged = fannedOut({ children: [{ agent: child, input: 'go' }], mergeStrategy: 'concat' }, { agent })
    await expect(merged).rejects.toThrow('The merge hook of slow did not answer within 20 ms.')
    const plain = fannedOut({
      children: [{ agent: child, input: 'go' }],
      mergeStrategy: { kind: 'custom', merge: () => 1 },
    })
    expect((await plain).output).toBe(1)
  })

  test('a tree-scoped policy in a child: the call of the child is denied', async () => {
    let paid = 0
    const child = createAgent({
      name: 'child',
      model: scriptedModel([paying, { text: 'done' }]),
      tools: [tool({ name: 'pay', input: z.object({}), execute: () => ++paid })],
      hookTimeoutMs: 20,
    })
    const hooks: Hooks = { 'tool.call': (call) => (call.tool.name === 'pay' ? never() : undefined) }
    const root = createAgent({
      name: 'root',
      model: scriptedModel([{ toolCalls: [{ name: 'ask', input: { task: 'go' } }] }, { text: 'done' }]),
      tools: [child.toTool({ name: 'ask', description: 'Asks.' })],
      extensions: [defineExtension({ name: 'slow', scope: 'tree', hooks })],
      hookTimeoutMs: 20,
    })
    expect((await root.run('go')).status).toBe('completed')
    expect(paid).toBe(0)
  })
})

describe('the time of a hook', () => {
  test('is notified by its signal, which is a new one for the next', async () => {
    const reasons: unknown[] = []
    const later: boolean[] = []
    const slow = (_: unknown, { signal }: HookContext): Promise<never> => {
      signal.addEventListener('abort', () => reasons.push((signal.reason as { code: string }).code))
      return never()
    }
    const seen = await run({
      'tool.call': slow,
      'run.end': (_, ctx) => void later.push(ctx.signal.aborted),
    })
    expect(seen.status).toBe('completed')
    expect(reasons).toEqual(['hook-timeout'])
    expect(later).toEqual([false])
  })

  test('does not count what a model that it asks takes, nor work with a limit of its own', async () => {
    const judging: Hooks = {
      async 'tool.call'(_, ctx) {
        await ctx.generate({ prompt: 'fine?', model: scriptedModel([{ text: 'yes', delayMs: 60 }]) })
        await ctx.within(1000, () => sleep(60))
      },
    }
    expect(await run(judging)).toMatchObject({ status: 'completed', paid: 1, reported: [] })
  })

  test('counts what comes before and after', async () => {
    const judging: Hooks = {
      async 'tool.call'(_, ctx) {
        await ctx.within(1000, () => sleep(5))
        return never()
      },
    }
    expect(await run(judging)).toMatchObject({ status: 'completed', paid: 0, reported: ['hook-timeout'] })
  })

  test('of such work is limited too, and its signal aborts', async () => {
    let aborted = false
    const judging: Hooks = {
      async 'tool.call'(_, ctx) {
        await ctx.within(10, (signal) => {
          signal.addEventListener('abort', () => (aborted = true))
          return never()
        })
      },
    }
    expect(await run(judging)).toMatchObject({ status: 'completed', paid: 0, reported: ['hook-timeout'] })
    expect(aborted).toBe(true)
  })

  test('is unlimited on request, and never that of what is around', async () => {
    const slow: Hooks = {
      'tool.call': () => sleep(40, undefined),
      async around(_, next) {
        await sleep(2)
        return next()
      },
    }
    expect(await run(slow, { hookTimeoutMs: Number.POSITIVE_INFINITY })).toMatchObject({ status: 'completed', paid: 1 })
    const long = tool({ name: 'pay', input: z.object({}), execute: () => sleep(60, 'paid') })
    const around: Hooks = { around: (_, next) => next() }
    expect(await run(around, { tools: [long] })).toMatchObject({ status: 'completed', reported: [] })
  })

  test.each([0, -1, Number.NaN, '5'])('cannot be %j', (hookTimeoutMs) => {
    const options = {
      name: 'a',
      model: scriptedModel([]),
      hookTimeoutMs: hookTimeoutMs as number,
      store: memoryStore(),
    }
    expect(() => createAgent(options)).toThrow(expect.objectContaining({ code: 'invalid-agent' }))
  })
})

test('a script with nothing else to do waits for the time-out and gets its result', () => {
  const script = `
    import { createAgent } from '@provost/agent'
    import { defineExtension } from '@provost/core'
    import { scriptedModel } from '@provost/testing'
    import { tool } from '@provost/tools'
    const pay = tool({ name: 'pay', input: { type: 'object' }, execute: () => 'paid' })
    const slow = defineExtension({ name: 'slow', hooks: { 'tool.call': () => new Promise(() => {}) } })
    const model = scriptedModel([{ toolCalls: [{ name: 'pay', input: {} }] }, { text: 'done' }])
    const agent = createAgent({ name: 'a', model, tools: [pay], extensions: [slow], hookTimeoutMs: 50 })
    console.log((await agent.run('go')).text)`
  const args = ['--conditions=@provost/source', '--input-type=module', '--eval', script]
  expect(execFileSync(process.execPath, args, { encoding: 'utf8', cwd: import.meta.dirname })).toBe('done\n')
})
