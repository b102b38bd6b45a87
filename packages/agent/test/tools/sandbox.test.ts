import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'

import { createAgent, handoff } from '@provost/agent'
import type { AgentOptions } from '@provost/agent'
import type { AgentEvent, Entry, Isolation, Runtime } from '@provost/core'
import { defineExtension } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { bashTool, justBashRuntime, nodeRuntime, readTool, sandboxed, tool, vercelSandboxRuntime } from '@provost/tools'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'

const silent: Runtime = {
  cwd: '/',
  exec: () => Promise.resolve({ stdout: '', stderr: '', exitCode: 0, truncated: false }),
  readFile: () => Promise.resolve(new Uint8Array()),
  writeFile: () => Promise.resolve(),
  list: () => Promise.resolve([]),
}
const saying = (isolation: Isolation): Runtime => ({ ...silent, isolation })

const work = (sandbox?: Isolation, execute: Parameters<typeof tool>[0]['execute'] = () => 'done') =>
  tool({ name: 'work', input: z.object({}), ...(sandbox && { sandbox }), execute })

const agentOf = (options: Partial<AgentOptions>) =>
  createAgent({
    name: 'a',
    model: scriptedModel([{ toolCalls: [{ name: 'work', input: {} }] }, { text: 'done' }]),
    store: memoryStore(),
    ...options,
    output: undefined,
  })

let root: string
let outside: string
beforeAll(async () => {
  const base = await mkdtemp(path.join(tmpdir(), 'sandbox-'))
  root = path.join(base, 'root')
  outside = path.join(base, 'outside')
  await mkdir(path.join(root, 'below'), { recursive: true })
  await mkdir(outside)
  await writeFile(path.join(outside, 'secret.txt'), 'secret')
  await writeFile(path.join(root, 'own.txt'), 'own')
  await symlink(outside, path.join(root, 'way-out'))
})
afterAll(() => rm(path.dirname(root), { recursive: true }))

describe('an agent is made only where its runtime gives what a tool declares', () => {
  test.each<[string, Isolation | undefined, () => Runtime | undefined, boolean]>([
    ['none, anywhere', 'none', () => silent, true],
    ['nothing, anywhere', undefined, () => silent, true],
    ['process, in the default runtime', 'process', () => undefined, true],
    ['process, in the Node runtime', 'process', () => nodeRuntime({ cwd: root }), true],
    ['process, in just-bash', 'process', () => justBashRuntime(), true],
    ['process, in one that says nothing', 'process', () => silent, false],
    ['process, in one that says none', 'process', () => saying('none'), false],
    ['process, in one that says nonsense', 'process', () => saying('very' as Isolation), false],
    ['process, in one that says constructor', 'process', () => saying('constructor' as Isolation), false],
    ['isolated, in the default runtime', 'isolated', () => undefined, false],
    ['isolated, in the Node runtime', 'isolated', () => nodeRuntime({ cwd: root }), false],
    ['isolated, in just-bash', 'isolated', () => justBashRuntime(), true],
    ['isolated, in a Vercel sandbox', 'isolated', () => vercelSandboxRuntime(), true],
    ['isolated, in one of ours that says so', 'isolated', () => saying('isolated'), true],
    ['isolated, in one that says process', 'isolated', () => saying('process'), false],
  ])('%s', (_, sandbox, made, fits) => {
    const runtime = made()
    const make = () => agentOf({ tools: [work(sandbox)], ...(runtime && { runtime }) })
    let came: unknown
    try {
      came = make().registry.get('work')?.sandbox ?? 'none'
    } catch (thrown) {
      came = (thrown as { code?: string }).code
    }
    expect(came).toBe(fits ? (sandbox ?? 'none') : 'sandbox-missing')
  })

  test('the tools of extensions, deferred ones and renamed ones are looked at too', () => {
    const strict = work('isolated')
    const refused = expect.objectContaining({ code: 'sandbox-missing' })
    const carrier = defineExtension({ name: 'carrier', tools: [strict] })
    expect(() => agentOf({ extensions: [carrier] })).toThrow(refused)
    expect(() => agentOf({ tools: [work()], extensions: [carrier] })).toThrow(refused)
    const deferred = tool({ name: 'd', sandbox: 'isolated', deferLoading: true, input: z.object({}), execute: () => 1 })
    expect(() => agentOf({ tools: [deferred] })).toThrow(refused)
  })

  test('children and targets of handoffs have runtimes of their own, and are refused by themselves', () => {
    const refused = expect.objectContaining({ code: 'sandbox-missing' })
    const strict = () => createAgent({ name: 'strict', model: scriptedModel([]), tools: [work('isolated')] })
    expect(() => agentOf({ runtime: justBashRuntime(), handoffs: [handoff(strict())] })).toThrow(refused)
    expect(() => agentOf({ tools: [strict().toTool({ name: 's', description: 's' })] })).toThrow(refused)
  })

  test('a child that a tree-scoped extension brings such a tool does not run it', async () => {
    let ran = 0
    const strict = work('isolated', () => ++ran)
    const carrier = defineExtension({ name: 'carrier', scope: 'tree', tools: [strict] })
    const child = createAgent({
      name: 'child',
      model: scriptedModel([{ toolCalls: [{ name: 'work', input: {} }] }, { text: 'done' }]),
    })
    const agent = agentOf({
      model: scriptedModel([{ toolCalls: [{ name: 'ask', input: { task: 'go' } }] }, { text: 'done' }]),
      tools: [child.toTool({ name: 'ask', description: 'Asks.' })],
      extensions: [carrier],
      runtime: justBashRuntime(),
    })
    await agent.run('go')
    expect(ran).toBe(0)
  })

  test('a level that is none is refused with the tool', () => {
    const invalid = expect.objectContaining({ code: 'invalid-tool' })
    expect(() => work('proces' as Isolation)).toThrow(invalid)
    expect(() => tool({ name: 'far', sandbox: 'process', input: z.object({}) })).toThrow(invalid)
    expect(() => sandboxed(work('isolated'), 'process')).toThrow(invalid)
  })
})

describe('a tool with a sandbox', () => {
  const tried = async (runtime: Runtime, sandbox: Isolation, act: (given: Runtime) => Promise<unknown>) => {
    let came: unknown
    const acting = work(sandbox, async (_: unknown, ctx) => {
      came = await act(ctx.runtime).catch((thrown: unknown) => (thrown as { code?: string }).code)
      return 'tried'
    })
    await agentOf({ tools: [acting], runtime }).run('go')
    return came
  }

  test.each([
    ['a parent', '../outside/secret.txt'],
    ['an absolute path', '/etc/passwd'],
    ['a link', 'way-out/secret.txt'],
  ])('cannot read or write beside its root by %s', async (_, name) => {
    const runtime = nodeRuntime({ cwd: root })
    const refused = /^path-(outside|invalid)$/
    expect(await tried(runtime, 'process', (given) => given.readFile(name))).toMatch(refused)
    expect(await tried(runtime, 'process', (given) => given.writeFile(name, 'x'))).toMatch(refused)
    expect(await tried(runtime, 'process', (given) => given.list(path.dirname(name)))).toMatch(refused)
  })

  test.each(['../outside', '/etc', 'way-out'])('cannot start a command in %s', async (cwd) => {
    expect(await tried(nodeRuntime({ cwd: root }), 'process', (given) => given.exec('ls', { cwd }))).toMatch(/^path-/)
  })

  test('starts commands in its root, without the variables of this process', async () => {
    process.env['PROVOST_SANDBOX_PROBE'] = 'seen'
    try {
      const run = (command: string) =>
        tried(nodeRuntime({ cwd: root }), 'process', (given) => given.exec(command, { cwd: 'below' }))
      expect(await run('basename "$PWD"; echo "[$PROVOST_SANDBOX_PROBE]"')).toMatchObject({ stdout: 'below\n[]\n' })
    } finally {
      delete process.env['PROVOST_SANDBOX_PROBE']
    }
  })

  test('that is isolated sees no file of this machine', async () => {
    const seen = await tried(justBashRuntime(), 'isolated', (given) =>
      given.exec(`cat ${path.join(outside, 'secret.txt')}`),
    )
    expect(seen).toMatchObject({ exitCode: 1, stdout: '' })
  })

  test('gets what a runtime is, and nothing that one has beside', async () => {
    let stopped = 0
    const runtime = { ...saying('isolated'), stop: () => ++stopped, host: process }
    const seen = await tried(runtime, 'isolated', (given) => Promise.resolve(Object.keys(given).toSorted()))
    expect(seen).toEqual(['cwd', 'exec', 'isolation', 'list', 'readFile', 'writeFile'])
    expect(stopped).toBe(0)
  })

  test('does not run where a runtime takes back what it gave', async () => {
    let level: Isolation = 'isolated'
    let ran = 0
    const runtime: Runtime = {
      ...silent,
      get isolation() {
        return level
      },
    }
    const agent = agentOf({ tools: [work('isolated', () => ++ran)], runtime })
    level = 'none'
    const codes: string[] = []
    for await (const event of agent.stream('go')) if (event.type === 'tool.execute.error') codes.push(event.error.code)
    expect([ran, codes]).toEqual([0, ['sandbox-missing']])
  })

  test('of another author can be made stricter', () => {
    const strict = sandboxed(bashTool, 'isolated')
    expect([bashTool.sandbox, readTool.sandbox, strict.sandbox]).toEqual(['process', 'process', 'isolated'])
    expect(() => agentOf({ tools: [strict] })).toThrow(expect.objectContaining({ code: 'sandbox-missing' }))
    expect(agentOf({ tools: [strict], runtime: justBashRuntime() }).registry.get('bash')?.sandbox).toBe('isolated')
  })
})

test('the level is on the approval, the audit row and their events, here and in a child', async () => {
  const store = memoryStore()
  const asking = tool({
    name: 'work',
    sandbox: 'process',
    needsApproval: true,
    input: z.object({}),
    execute: () => 'done',
  })
  const auditing = defineExtension({
    name: 'auditing',
    scope: 'tree',
    hooks: {
      'tool.call': async ({ callId, tool: { name } }, ctx) =>
        name === 'work' && !ctx.approval
          ? ctx.audit('flagged', { rule: 'seen', callId, sources: [], evidence: null })
          : undefined,
    },
  })
  const child = agentOf({ name: 'child', tools: [asking] })
  const parent = agentOf({
    model: scriptedModel([{ toolCalls: [{ name: 'ask', input: { task: 'go' } }] }, { text: 'done' }]),
    tools: [child.toTool({ name: 'ask', description: 'Asks.' })],
    extensions: [auditing],
    store,
  })
  for (const agent of [agentOf({ tools: [asking], extensions: [auditing], store }), parent]) {
    const events: AgentEvent[] = []
    const stream = agent.stream('go')
    for await (const event of stream) events.push(event)
    const { pending, sessionId } = await stream.result
    expect(pending.approvals).toMatchObject([{ toolName: 'work', sandbox: 'process' }])
    const told = events.filter(({ type }) => type === 'tool.approval.requested' || type === 'governance.flagged')
    expect(told.map((event) => ('sandbox' in event ? event.sandbox : undefined))).toEqual(['process', 'process'])
    const rows: Entry[] = []
    const logs = [sessionId]
    for (const log of logs) {
      for await (const entry of store.read(log)) {
        if (entry.type === 'audit') rows.push(entry)
        if (entry.type === 'child' && entry.op === 'spawned') logs.push(entry.log)
      }
    }
    expect(rows).toMatchObject([{ rule: 'seen', sandbox: 'process' }])
  }
})
