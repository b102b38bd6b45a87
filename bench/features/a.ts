import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { createClient } from '@provost/client'
import { createServer as createAgentServer, serve } from '@provost/server'
import { tool as aiTool, jsonSchema } from 'ai'
import {
  advance,
  agentic,
  createAgent,
  isCallTo,
  jsonlStore,
  memoryStore,
  planAndExecute,
  react,
  resumeLoop,
  startLoop,
  textOf,
  tool,
  trustedLabel,
  z,
} from 'provost'
import type { AgentEvent, Entry, LoopDriver, ModelMessage, Orchestrator, SendMode } from 'provost'
import { bashTool, justBashRuntime, nodeRuntime, vercelSandboxRuntime } from 'provost/files'
import { fromMessageStore } from 'provost/sessions'
import { sqliteStore } from 'provost/sqlite'
import { runtimeConformance, scriptedModel } from 'provost/testing'
import { webFetchTool } from 'provost/web'

import { check, type Check, type CheckContext } from './check.ts'
import { eventsOf, loose, ofType, readBy } from './reading.ts'

const root = join(import.meta.dirname, '..')
const input = z.object({ n: z.number() })
const step = tool({ name: 'step', effect: 'none', input, execute: ({ n }) => `step ${n}` })

async function a1({ claim, folder }: CheckContext): Promise<string> {
  const place = folder()
  const agent = createAgent({
    name: 'desk',
    instructions: 'Answer in French.',
    model: scriptedModel([
      { toolCalls: [{ name: 'bash', input: { command: 'pwd' } }] },
      ({ messages }) => ({ text: readBy({ messages }).join('\n') }),
    ]),
    tools: [bashTool],
    runtime: nodeRuntime({ cwd: place }),
    store: sqliteStore(join(place, 'a1.db')),
    maxSteps: 5,
    sendMode: 'queue',
  })
  const { text } = await agent.run('Where are we?')
  assert.match(text, /^system: Answer in French\.\nuser: Where are we\?/u)
  assert.ok(text.includes(place))
  let calls = 0
  const endless = createAgent({
    name: 'endless',
    model: scriptedModel([() => ({ toolCalls: [{ name: 'step', input: { n: ++calls } }] })], { after: 'repeat-last' }),
    tools: [step],
  })
  const result = await endless.run('go')
  assert.equal(result.error?.code, 'max-steps')
  await claim('a run at the limit of steps can be resumed with more', async () => {
    const more = await endless.run(result.state, { maxSteps: 103 })
    assert.equal(more.error?.code, 'max-steps')
    assert.equal(calls, 103)
  })
  await claim('wrong options are refused by name', () => {
    const model = scriptedModel([])
    for (const [options, code, named] of [
      [{ name: 'x' }, 'invalid-agent', /model/u],
      [{ name: 'x', model, maxSteps: 0 }, 'invalid-agent', /maxSteps/u],
      [{ name: 'x', model, sendMode: 'stear' }, 'invalid-agent', /stear/u],
      [{ name: 'x', model, systemPrompt: 'hi' }, 'unknown-option', /systemPrompt/u],
    ] as const)
      assert.throws(
        () => loose(createAgent, options),
        (error: Error & { hint?: string }) =>
          'code' in error && error.code === code && named.test(error.message) && error.hint !== '',
      )
  })
  return `all options at work; default limit of 100 model calls, then ${result.error.code}, resumed to ${calls}`
}

async function a2({ claim, folder }: CheckContext): Promise<string> {
  const file = join(folder(), 'a2.db')
  const desk = (name = 'desk') =>
    createAgent({
      name,
      model: scriptedModel([(prompt) => ({ text: readBy(prompt).join('|') })]),
      store: sqliteStore(file),
    })
  const first = await desk().createSession({ id: 'ann-17' })
  first.send('I am Ann.')
  await first.waitForIdle()
  await first.close()
  const again = await desk().resumeSession('ann-17')
  again.send('Who am I?')
  const result = await again.waitForIdle()
  assert.match(result?.text ?? '', /^user: I am Ann\.\|assistant: user: I am Ann\.\|user: Who am I\?$/u)
  const { id } = await desk().createSession()
  assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7/u)
  const refusals: [() => Promise<unknown>, string][] = [
    [async () => desk().resumeSession('unknown'), 'unknown-session'],
    [async () => desk().createSession({ id: 'ann-17' }), 'session-exists'],
    [async () => desk('other').resumeSession('ann-17'), 'wrong-agent'],
    [async () => desk().createSession({ id: '' }), 'invalid-session-id'],
  ]
  for (const [act, code] of refusals) {
    await claim(code, async () => {
      await assert.rejects(act, (error: Error & { code?: string; hint?: string }) => {
        assert.equal(error.code, code)
        assert.ok(error.hint, 'a hint')
        return true
      })
    })
  }
  await claim('an id that looks like a path stays in the folder of its store', async () => {
    const outer = folder()
    const store = jsonlStore(join(outer, 'inner'))
    const session = await createAgent({ name: 'desk', model: scriptedModel([{ text: 'ok' }]), store }).createSession({
      id: '../../x',
    })
    session.send('hi')
    await session.waitForIdle()
    assert.deepEqual(readdirSync(outer), ['inner'])
  })
  return `id ${id.slice(0, 8)}…; resumed by another agent object over SQLite; ${refusals.map(([, code]) => code).join(', ')}`
}

async function a3({ claim }: CheckContext): Promise<string> {
  const boom = Object.assign(new Error('no key'), { statusCode: 401 })
  const model = scriptedModel([{ text: ['one', ' two'], delayMs: 5 }, { error: boom }, { text: 'three' }])
  const session = await createAgent({ name: 'desk', model }).createSession()
  const heard: string[] = []
  const slow: string[] = []
  const forget = (event: AgentEvent): void => void heard.push(event.type)
  const chained = session
    .on('*', forget)
    .off('*', forget)
    .on('text.delta', async ({ delta }) => {
      await sleep(20)
      slow.push(delta)
    })
    .on('turn.end', () => {
      throw new Error('listener broke')
    })
    .on('agent.error', ({ source, error }) => void heard.push(`${source.kind} ${error.message}`))
  assert.equal(chained, session)
  assert.equal(session.send('hi'), undefined)
  assert.equal(session.status, 'running')
  assert.equal((await session.waitForIdle())?.text, 'one two')
  await sleep(60)
  assert.deepEqual(slow.toSorted(), [' two', 'one'])
  await claim('a listener that throws is reported, and the run goes on', () => {
    assert.equal(heard.length, 1)
    assert.match(heard[0] ?? '', /^listener .*listener broke/u)
  })
  session.send('and now?')
  await assert.rejects(session.waitForIdle(), { name: 'ProvostError' })
  session.send('once more')
  await claim('a session continues after a failed run', async () => {
    assert.equal((await session.waitForIdle())?.text, 'three')
  })
  await claim('an unknown event is refused', () =>
    assert.throws(() => loose(session.on.bind(session), 'text_delta', () => {}), { code: 'unknown-event' }),
  )
  return `send returns undefined; off and chain; async listeners; waitForIdle rejects once, then goes on`
}

/** The trigger and the text of each turn. */
async function turnsOf(sendMode: { agent?: SendMode; session?: SendMode; call?: SendMode }): Promise<string[]> {
  const model = scriptedModel([(prompt) => ({ text: `re: ${readBy(prompt).at(-1)}`, delayMs: 5 })], {
    after: 'repeat-last',
  })
  const agent = createAgent({ name: 'desk', model, ...(sendMode.agent && { sendMode: sendMode.agent }) })
  const session = await agent.createSession({ sendMode: sendMode.session })
  const turns: string[] = []
  session
    .on('turn.start', ({ trigger }) => void turns.push(trigger))
    .on('turn.end', ({ text }) => void turns.push(text))
  session.send('What OS is this?')
  for (const text of ['How much disk?', 'What uptime?']) session.send(text, { mode: sendMode.call })
  await session.waitForIdle()
  return turns
}

async function a4({ claim, folder, after }: CheckContext): Promise<string> {
  const three = [
    ...['input', 're: user: What OS is this?'],
    ...['queue', 're: user: How much disk?'],
    ...['queue', 're: user: What uptime?'],
  ]
  for (const mode of [
    { agent: 'queue' },
    { session: 'queue' },
    { agent: 'steer', session: 'steer', call: 'queue' },
  ] as const)
    await claim(`three queued messages are three answers in order: ${JSON.stringify(mode)}`, async () => {
      assert.deepEqual(await turnsOf(mode), three)
    })
  for (const [name, orchestrator] of [
    ['react', react()],
    ['plan and execute', planAndExecute()],
    ['a function of its own', async (run) => agentic()(run)],
  ] as [string, Orchestrator][])
    await claim(`so they are under ${name}`, async () => {
      const planned = scriptedModel(
        [
          (prompt) =>
            prompt.options.responseFormat?.type === 'json' || readBy(prompt).join().includes('steps')
              ? { text: '{"steps":[]}' }
              : { text: `re: ${readBy(prompt).findLast((line) => line.startsWith('user'))}` },
        ],
        { after: 'repeat-last' },
      )
      const session = await createAgent({
        name: 'desk',
        model: planned,
        orchestrator,
        sendMode: 'queue',
      }).createSession()
      const inputs: string[] = []
      session
        .on('turn.start', ({ trigger }) => void inputs.push(trigger))
        .on('turn.end', ({ text }) => void inputs.push(text === '' ? 'silence' : 'answer'))
      for (const text of ['one', 'two', 'three']) session.send(text)
      await session.waitForIdle()
      assert.deepEqual(inputs, ['input', 'answer', 'queue', 'answer', 'queue', 'answer'])
    })
  await claim('so they are when the process is killed in between', async () => {
    const file = join(folder(), 'a4.db')
    const program = `
      import { createAgent } from 'provost'
      import { sqliteStore } from 'provost/sqlite'
      import { scriptedModel } from 'provost/testing'
      let n = 0
      const model = scriptedModel([() => { if (++n === 2) process.kill(process.pid, 'SIGKILL'); return { text: 're one', delayMs: 500 } }], { after: 'repeat-last' })
      const session = await createAgent({ name: 'desk', model, store: sqliteStore(${JSON.stringify(file)}), leaseMs: 500 }).createSession({ id: 's' })
      await session.deliver('one')
      for (const text of ['two', 'three']) await session.deliver(text, { mode: 'queue' })
      await session.waitForIdle()`
    const child = spawn(process.execPath, ['--conditions=@provost/source', '--input-type=module', '-e', program], {
      cwd: root,
    })
    const [, signal] = await once(child, 'exit')
    assert.equal(signal, 'SIGKILL')
    await sleep(600)
    const model = scriptedModel(
      [
        (prompt) => ({
          text: `re ${readBy(prompt)
            .findLast((line) => line.startsWith('user'))
            ?.slice(6)}`,
        }),
      ],
      { after: 'repeat-last' },
    )
    const again = await createAgent({ name: 'desk', model, store: sqliteStore(file), leaseMs: 500 }).resumeSession('s')
    const { result } = again.resume()
    await result
    await again.waitForIdle()
    assert.deepEqual(
      again.messages
        .map((message) => `${message.role} ${textOf(message)}`)
        .filter((line) => !line.startsWith('aborted')),
      [...['user one', 'assistant re one', 'user two', 'assistant re two', 'user three', 'assistant re three']],
    )
  })
  await claim('so they are over HTTP', async () => {
    const store = memoryStore()
    const model = scriptedModel([(prompt) => ({ text: ['re ', `${readBy(prompt).at(-1)?.slice(6)}`], delayMs: 300 })], {
      after: 'repeat-last',
    })
    const { url, close } = await serve(
      createAgentServer({ agents: [createAgent({ name: 'desk', model, store })], store }),
      { port: 0 },
    )
    after(close)
    const session = createClient({ baseUrl: url }).session()
    const turns: string[] = []
    let sent = false
    for await (const event of session.execute('one')) {
      if (event.type === 'turn.end') turns.push(event.text)
      if (sent || event.type !== 'text.delta') continue
      sent = true
      for (const text of ['two', 'three']) await session.followUp(text)
    }
    assert.deepEqual(turns, ['re one', 're two', 're three'])
  })
  const model = scriptedModel([
    { toolCalls: [1, 2, 3].map((n) => ({ name: 'step', input: { n } })) },
    (prompt) => ({ text: readBy(prompt).at(-1) ?? '', delayMs: 10 }),
    (prompt) => ({ text: readBy(prompt).at(-1) ?? '' }),
  ])
  const ran: number[] = []
  const slowStep = tool({ name: 'step', input, executionMode: 'sequential', execute: ({ n }) => ran.push(n) })
  const session = await createAgent({ name: 'desk', model, tools: [slowStep] }).createSession()
  const events: AgentEvent[] = []
  let last = false
  session
    .on('*', (event) => void events.push(event))
    .on('tool.execute.end', () => session.send('Stop, the date only.'))
    .on('text.delta', () => {
      if (!last) session.send('And the year.')
      last = true
    })
  session.send('List everything.')
  const result = await session.waitForIdle()
  assert.deepEqual(ran, [1])
  assert.equal(ofType(events, 'tool.skipped').length, 2)
  assert.equal(ofType(events, 'text.end')[0]?.text, 'user: Stop, the date only.')
  await claim('a message that steers the last answer is answered', () => {
    assert.equal(result?.text, 'user: And the year.')
  })
  const steered = ofType(events, 'agent.steered').map(({ text }) => text)
  return `queue by agent, session, call: 3 answers; steer between tools: ran ${ran.length}, skipped 2; steered: ${steered.join(' ')}`
}

async function a5({ claim }: CheckContext): Promise<string> {
  const usage = { inputTokens: 10, outputTokens: 3 }
  const model = scriptedModel([
    { text: ['let', ' me'], toolCalls: [1, 2].map((n) => ({ name: 'step', input: { n } })), usage },
    { text: 'done', usage },
  ])
  const events = await eventsOf(createAgent({ name: 'desk', model, tools: [step] }).stream('go'))
  const order = events
    .map((event) => ('role' in event ? `${event.type} ${event.role}` : event.type))
    .filter((name) => !/delta|tool.call/u.test(name))
  assert.deepEqual(order, [
    ...['agent.start', 'turn.start', 'message.start user', 'message.end'],
    ...['step.start', 'message.start assistant', 'text.start', 'text.end', 'message.end', 'turn.mode'],
    ...['tool.execute.start', 'tool.execute.start', 'tool.execute.end', 'tool.execute.end'],
    ...['message.start tool', 'message.end', 'step.end'],
    ...['step.start', 'message.start assistant', 'text.start', 'text.end', 'message.end', 'turn.mode', 'step.end'],
    ...['turn.end', 'agent.end'],
  ])
  assert.deepEqual(
    events.map(({ seq }) => seq),
    events.map((_, n) => n + 1),
  )
  const [end] = ofType(events, 'agent.end')
  assert.equal(end?.usage.inputTokens, 20)
  assert.deepEqual(ofType(events, 'step.end')[0]?.usage.outputTokens, 3)
  const failures: [unknown, RegExp][] = [
    [Object.assign(new Error('bad key'), { statusCode: 401 }), /./u],
    [Object.assign(new Error('bad request'), { statusCode: 400 }), /./u],
  ]
  for (const [error] of failures)
    await claim(`a refused model call is one agent.error of the model: ${String(error)}`, async () => {
      const failed = await eventsOf(createAgent({ name: 'desk', model: scriptedModel([{ error }]) }).stream('go'))
      const errors = ofType(failed, 'agent.error')
      assert.deepEqual(
        errors.map(({ source }) => source.kind),
        ['model'],
      )
      assert.equal(errors[0]?.error.code, ofType(failed, 'agent.end')[0]?.error?.code)
      assert.equal(failed.at(-1)?.type, 'agent.end')
    })
  return `${events.length} events in the documented order, seq without a gap; 401 and 400: agent.error of the model`
}

async function a6({ claim }: CheckContext): Promise<string> {
  const bash = tool({
    name: 'bash',
    effect: 'write',
    input: z.object({ command: z.string(), timeout: z.number().optional() }),
    execute: ({ command, timeout }) => `${command} ${timeout ?? 'no timeout'}`,
  })
  const commands = ['rm -rf /', 'uname', 'uptime']
  const session = async () => {
    const calls = { toolCalls: commands.map((command) => ({ name: 'bash', input: { command } })) }
    const opened = await createAgent({
      name: 'desk',
      model: scriptedModel([calls, { text: 'ok' }]),
      tools: [bash],
    }).createSession()
    const outcomes: string[] = []
    opened
      .on('tool.execute.end', ({ output }) => void outcomes.push(output.type === 'text' ? output.value : output.type))
      .on('tool.execute.error', ({ error }) => void outcomes.push(error.code))
    return { opened, outcomes }
  }
  const run = async ({ opened }: Awaited<ReturnType<typeof session>>): Promise<void> => {
    opened.send('go')
    await opened.waitForIdle()
  }
  const denies = await session()
  denies.opened.on('tool.call', async (c) => {
    await sleep(1)
    return isCallTo(c, bash) && /rm -rf/u.test(c.input.command) ? { deny: 'Blocked.' } : undefined
  })
  await run(denies)
  assert.deepEqual(denies.outcomes, ['tool-denied', 'uname no timeout', 'uptime no timeout'])
  await claim('a listener that rewrites keeps the other arguments', async () => {
    const one = await session()
    one.opened.on('tool.call', (c) => (isCallTo(c, bash) ? { args: { ...c.input, timeout: 5_000 } } : undefined))
    await run(one)
    assert.deepEqual(
      one.outcomes,
      commands.map((command) => `${command} 5000`),
    )
  })
  await claim('two listeners that wrap one another both take effect, in order', async () => {
    const two = await session()
    for (const wrapper of ['timeout 5', 'nice'])
      two.opened.on('tool.call', (c) =>
        isCallTo(c, bash) ? { args: { ...c.input, command: `${wrapper} ${c.input.command}` } } : undefined,
      )
    await run(two)
    assert.deepEqual(
      two.outcomes,
      commands.map((command) => `nice timeout 5 ${command} no timeout`),
    )
  })
  await claim('an earlier listener still denies what a later one wrote', async () => {
    const two = await session()
    two.opened
      .on('tool.call', (c) => (isCallTo(c, bash) && c.input.command.includes('sudo') ? { deny: 'no sudo' } : undefined))
      .on('tool.call', (c) => (isCallTo(c, bash) ? { args: { command: `sudo ${c.input.command}` } } : undefined))
    await run(two)
    assert.deepEqual(two.outcomes, ['tool-denied', 'tool-denied', 'tool-denied'])
  })
  await claim('a listener that throws denies', async () => {
    const broken = await session()
    broken.opened.on('tool.call', () => {
      throw new Error('policy broke')
    })
    await run(broken)
    assert.equal(broken.outcomes.length, 3)
    assert.ok(broken.outcomes.every((outcome) => !outcome.includes('timeout')))
  })
  await claim('a human is asked about the final arguments, and these run', async () => {
    const ran: string[] = []
    const asking = tool({
      name: 'bash',
      input: z.object({ command: z.string() }),
      needsApproval: true,
      execute: ({ command }) => ran.push(command),
    })
    const calls = { toolCalls: [{ name: 'bash', input: { command: 'uname' } }] }
    const agent = createAgent({ name: 'desk', model: scriptedModel([calls, { text: 'ok' }]), tools: [asking] })
    const asked: unknown[] = []
    const opened = await agent.createSession({
      onApproval: ({ input: shown }) => {
        asked.push(shown)
        return 'approve'
      },
    })
    let n = 0
    opened.on('tool.call', (c) =>
      isCallTo(c, asking) ? { args: { command: `${c.input.command} ${++n}` } } : undefined,
    )
    opened.send('go')
    await opened.waitForIdle()
    assert.deepEqual(asked, [{ command: 'uname 1' }])
    assert.deepEqual(ran, ['uname 1'])
  })
  await claim('rewritten arguments that do not fit the schema do not run', async () => {
    const bad = await session()
    bad.opened.on('tool.call', () => ({ args: { command: 17 } }))
    await run(bad)
    assert.deepEqual(bad.outcomes, ['invalid-tool-input', 'invalid-tool-input', 'invalid-tool-input'])
  })
  return `denied 1 of 3, each call judged by itself; wrapped by two listeners; deny after a rewrite; a throw denies`
}

async function a7({ claim }: CheckContext): Promise<string> {
  let atWork = 0
  let most = 0
  const wait = tool({
    name: 'wait',
    effect: 'none',
    input: z.object({ ms: z.number() }),
    async execute({ ms }) {
      most = Math.max(most, ++atWork)
      await sleep(ms)
      atWork--
      return `waited ${ms}`
    },
  })
  const calls = [30, 20, 10].map((ms) => ({ name: 'wait', input: { ms } }))
  const agent = createAgent({
    name: 'desk',
    model: scriptedModel([{ toolCalls: calls }, { text: 'ok' }]),
    tools: [wait],
  })
  const { messages } = await agent.run('go')
  const results = messages.filter(({ role }) => role === 'tool').flatMap(({ content }) => content)
  assert.equal(most, 3)
  assert.deepEqual(
    results.map((part) => (part.type === 'tool-result' && 'value' in part.output ? part.output.value : '')),
    ['waited 30', 'waited 20', 'waited 10'],
  )
  const log: Entry[] = []
  const asked: string[] = []
  const driver: LoopDriver = {
    callModel: ({ request }) => ({
      message: {
        id: `m${request.messages.length}`,
        role: 'assistant',
        label: trustedLabel,
        createdAt: 0,
        content:
          request.messages.length > 1
            ? [{ type: 'text', text: 'ok' }]
            : ['a', 'b'].map((callId) => ({
                type: 'tool-call',
                callId,
                toolCallId: callId,
                toolName: 'wait',
                input: { ms: 1 },
              })),
      },
      usage: {},
      finishReason: 'stop',
    }),
    authorize(planned) {
      asked.push(`authorize ${planned.length}`)
      return planned.map((call, n) => (n === 0 ? { deny: 'no' } : { proceed: call.input }))
    },
    execute(approved) {
      asked.push(`execute ${approved.map(({ callId }) => callId).join()}`)
      return approved.map((call) => ({
        ...call,
        outcome: 'ok' as const,
        via: 'executed' as const,
        output: { type: 'text' as const, value: 'done' },
        label: trustedLabel,
      }))
    },
    awaitDecisions: () => 'suspend',
    append: (entries) => void log.push(...entries),
  }
  await claim('the loop is driven by hand: all decisions first, then what was approved', async () => {
    const loop = await startLoop(agent, driver, 'go')
    let status: string | undefined
    while (status === undefined) status = await advance(loop)
    assert.equal(status, 'completed')
    assert.deepEqual(asked, ['authorize 2', 'execute b'])
  })
  await claim('a loop over a log that has ended does nothing', async () => {
    const before = log.length
    assert.equal(await advance(resumeLoop(agent, driver, log)), 'completed')
    assert.equal(log.length, before)
  })
  return `3 tools at once, results in call order; by hand: ${asked.join(', ')}`
}

async function a8({ claim, folder }: CheckContext): Promise<string> {
  const runtime = nodeRuntime({ cwd: folder() })
  await runtime.writeFile('a/b.txt', 'hello')
  assert.equal((await runtime.exec('cat a/b.txt; exit 3')).exitCode, 3)
  const big = await runtime.exec('head -c 3000000 /dev/zero | tr "\\0" x')
  assert.equal(big.stdout.length, 2 ** 20)
  assert.equal(big.truncated, true)
  await claim('a command past its time ends with 124', async () => {
    const start = performance.now()
    assert.equal((await runtime.exec('sleep 30', { timeout: 100 })).exitCode, 124)
    assert.ok(performance.now() - start < 5_000)
  })
  await claim('no path leads out of the root', async () => {
    await runtime.exec('ln -s /etc out')
    for (const path of ['../../etc/passwd', '/etc/passwd', 'out/passwd'])
      await assert.rejects(runtime.readFile(path), { name: 'ProvostError' })
    await assert.rejects(runtime.writeFile('out/x', 'x'), { name: 'ProvostError' })
  })
  const counts: Record<string, number> = {}
  for (const [name, create] of [
    ['node', () => nodeRuntime({ cwd: folder() })],
    ['just-bash', () => justBashRuntime()],
  ] as const)
    for (const one of runtimeConformance(create))
      await claim(`${name}: ${one.name}`, async () => {
        await one.run()
        counts[name] = (counts[name] ?? 0) + 1
      })
  await claim('a Vercel sandbox without credentials fails with a code and a hint', async () => {
    await assert.rejects(vercelSandboxRuntime().exec('uname'), (error: Error & { hint?: string }) => {
      assert.equal(error.name, 'ProvostError')
      assert.ok(error.hint)
      return true
    })
  })
  return `1 MiB of 3 MB kept and marked; 124; confined; conformance ${JSON.stringify(counts)}`
}

async function a9({ claim, folder, after }: CheckContext): Promise<string> {
  let requests = 0
  const server = createServer((request, response) => {
    requests++
    if (request.url === '/slow') return
    response.setHeader('content-type', 'text/plain').end('word '.repeat(40_000))
  }).listen(0, '127.0.0.1')
  after(() => server.closeAllConnections())
  after(() => server.close())
  await once(server, 'listening')
  const address = server.address()
  const host = `127.0.0.1:${typeof address === 'object' ? address?.port : ''}`
  const run = async (name: string, given: unknown, tools: unknown): Promise<string> => {
    const model = scriptedModel([
      { toolCalls: [{ name, input: given }] },
      (prompt) => ({ text: readBy(prompt).at(-1) ?? '' }),
    ])
    const agent = loose(createAgent, { name: 'desk', model, tools, runtime: nodeRuntime({ cwd: folder() }) })
    return (await (agent as ReturnType<typeof createAgent>).run('go')).text
  }
  assert.match(await run('bash', { command: 'echo $((6*7)) >&2; exit 2' }, [bashTool]), /42[\s\S]*exit code 2/u)
  const page = await run('web_fetch', { url: `http://${host}/` }, [webFetchTool({ allow: [host] })])
  assert.ok(page.length > 40_000 && page.length < 52_000, `${page.length}`)
  await claim('a page that does not come ends in time', async () => {
    const late = await run('web_fetch', { url: `http://${host}/slow` }, [
      webFetchTool({ allow: [host], timeoutMs: 200 }),
    ])
    assert.match(late, /error-text/u)
  })
  await claim('loopback and the metadata service are refused in every spelling', async () => {
    const before = requests
    for (const url of [
      `http://${host}/`,
      'http://0x7f.1/',
      'http://[::ffff:127.0.0.1]/',
      'http://169.254.169.254/latest',
    ])
      assert.match(await run('web_fetch', { url }, [webFetchTool()]), /refused|cannot be fetched/u)
    assert.equal(requests, before)
  })
  const schema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] } as const
  const execute = ({ name }: { name: string }): string => `Hello, ${name}!`
  const shapes: [string, unknown][] = [
    ['zod', [tool({ name: 'greet', input: z.object({ name: z.string() }), execute })]],
    ['JSON Schema', [tool({ name: 'greet', input: schema, execute })]],
    [
      'a tool of the AI SDK',
      { greet: aiTool({ inputSchema: jsonSchema<{ name: string }>({ ...schema, required: ['name'] }), execute }) },
    ],
    ['a plain object with zod', { greet: { description: 'g', inputSchema: z.object({ name: z.string() }), execute } }],
    ['a plain object with JSON Schema', { greet: { description: 'g', inputSchema: schema, execute } }],
  ]
  for (const [shape, tools] of shapes) {
    await claim(`a tool as ${shape} runs`, async () => {
      assert.match(await run('greet', { name: 'Ada' }, tools), /Hello, Ada!/u)
    })
    await claim(`a tool as ${shape} refuses wrong input`, async () => {
      assert.match(await run('greet', { name: 17 }, tools), /name/u)
    })
  }
  await claim('a plain object with a name in a list runs, or the refusal names tool()', async () => {
    const plain = [{ name: 'greet', description: 'g', parameters: schema, execute }]
    const seen = await run('greet', { name: 'Ada' }, plain).catch(
      (error: Error & { hint?: string }) => `${error.message} ${error.hint}`,
    )
    assert.match(seen, /Hello, Ada!|tool\(/u)
  })
  return `bash; a page of 200 KB as ${page.length} characters; SSRF refused; ${shapes.length} shapes of tools`
}

async function a10({ claim }: CheckContext): Promise<string> {
  const kept = new Map<string, ModelMessage[]>()
  const messages = {
    load: async (id: string) => kept.get(id) ?? [],
    append: async (id: string, message: ModelMessage) => void kept.set(id, [...(kept.get(id) ?? []), message]),
    exists: async (id: string) => kept.has(id),
  }
  const model = () =>
    scriptedModel([
      { toolCalls: [{ name: 'step', input: { n: 1 } }] },
      (prompt) => ({ text: readBy(prompt).join('|') }),
    ])
  const agent = () => createAgent({ name: 'desk', model: model(), tools: [step], store: fromMessageStore(messages) })
  const session = await agent().createSession({ id: 's' })
  session.send('first')
  await session.waitForIdle()
  assert.deepEqual(
    kept.get('s')?.map(({ role }) => role),
    ['user', 'assistant', 'tool', 'assistant'],
  )
  const again = await agent().resumeSession('s')
  again.send('second')
  const text = (await again.waitForIdle())?.text ?? ''
  assert.match(text, /^user: first\|/u)
  assert.equal(kept.get('s')?.length, 8)
  await claim('the default store keeps a session in memory', async () => {
    const own = createAgent({ name: 'own', model: scriptedModel([{ text: 'a' }, { text: 'b' }]) })
    const { id } = await own.createSession()
    for (const say of ['one', 'two']) {
      const opened = await own.resumeSession(id)
      opened.send(say)
      await opened.waitForIdle()
    }
    assert.equal((await own.resumeSession(id)).messages.map(textOf).join(), 'one,a,two,b')
  })
  await claim('an unknown session is refused', async () => {
    await assert.rejects(agent().resumeSession('unknown'), { code: 'unknown-session' })
  })
  await claim('a three-method store handed over directly works, or fromMessageStore is named at once', async () => {
    let direct: unknown
    try {
      direct = loose(createAgent, { name: 'desk', model: model(), tools: [step], store: messages })
    } catch (error) {
      assert.match(`${String(error)} ${(error as { hint?: string }).hint}`, /fromMessageStore/u)
      return
    }
    assert.equal((await (direct as ReturnType<typeof agent>).run('go')).status, 'completed')
  })
  await claim('a message that the application rejects fails or is kept for later, never lost', async () => {
    let broken = 1
    const flaky = {
      ...messages,
      append: async (id: string, message: ModelMessage) => {
        if (broken-- > 0) throw new Error('database is away')
        await messages.append(id, message)
      },
    }
    const one = await createAgent({
      name: 'desk',
      model: model(),
      tools: [step],
      store: fromMessageStore(flaky),
    }).createSession({ id: 'f' })
    one.send('kept?')
    await one.waitForIdle().catch(() => {})
    one.send('and now')
    await one.waitForIdle().catch(() => {})
    const [first] = kept.get('f') ?? []
    assert.equal(JSON.stringify(first?.content).includes('kept?'), true)
  })
  return `4 messages kept with calls and results; resumed by another agent: 8; default store in memory`
}

export const rows: readonly Check[] = [
  check('A1', 'an agent of model, instructions, tools, runtime, store, maxSteps, sendMode, with defaults', a1),
  check('A2', 'createSession and resumeSession; an unknown id is a clear error', a2),
  check('A3', 'send, waitForIdle, on, off, chaining, async listeners', a3),
  check('A4', 'steer and queue, per agent, session and call; three drain points', a4),
  check('A5', 'events in a documented order, with usage; errors', a5),
  check('A6', 'listeners deny or rewrite calls, each by itself', a6),
  check('A7', 'a loop by hand: approval, parallel execution, results in order', a7),
  check('A8', 'runtimes: Node, just-bash, Vercel sandbox', a8),
  check('A9', 'bash and web_fetch; tools from zod, JSON Schema, plain objects', a9),
  check('A10', 'a three-method store; in memory by default', a10),
]
