import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createServer as createMute, type Socket } from 'node:net'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { text as textIn } from 'node:stream/consumers'

import { context, diag, metrics, trace } from '@opentelemetry/api'
import { type AgentEvent, z } from 'provost'
import { beforeAll, expect, test } from 'vitest'

import { runCommand } from '../src/command.ts'
import { openDatabase } from '../src/database.ts'
import { createOrders, type Orders } from '../src/orders.ts'
import { openTracing } from '../src/tracing.ts'
import { desk, deskIn, type Finished, folder, start, startWork, work } from './desk-command.ts'
import { samples } from './samples.ts'

// Tests about the process start one, as a user does. The others run the same commands in this process.

const full = process.env['PROVOST_TEST_FULL'] === '1'

const eventsIn = (out: string): AgentEvent[] =>
  out
    .trimEnd()
    .split('\n')
    .map((line): AgentEvent => JSON.parse(line))

function withOrders<T>(data: string, read: (orders: Orders) => T): T {
  const orders = createOrders(openDatabase(join(data, 'desk.sqlite')))
  try {
    return read(orders)
  } finally {
    orders.close()
  }
}

const data = folder()
let first: Finished
let events: readonly AgentEvent[]

const injected = ['14-injected-visible.eml', '15-injected-white-text.eml', '16-injected-attachment.eml']
/** The data of the run without the policy. */
const openData = folder()
let open: Finished

beforeAll(async () => {
  const only = injected.flatMap((name) => ['--only', name])
  ;[first, open] = await Promise.all([
    // In its own process in full runs. The test of Ctrl-C also covers a process.
    (full ? start : desk)('--all', '--json', '--data', data),
    desk('--no-policy', '--data', openData, ...only),
  ])
  events = eventsIn(first.out)
})

test('--json: stdout has only events, one complete run for each readable mail', () => {
  expect(first.code).toBe(0)
  const runs = Map.groupBy(events, ({ runId, parents }) => parents.at(-1) ?? runId)
  expect(runs.size).toBe(readdirSync(samples).filter((name) => name.endsWith('.eml')).length - 1)
  for (const run of runs.values()) {
    expect(run[0]?.type).toBe('agent.start')
    expect(run.map(({ seq }) => seq)).toEqual(run.map((_, i) => (run[0]?.seq ?? 0) + i))
    expect(run.filter(({ type, parents }) => type === 'agent.end' && parents.length === 0)).toHaveLength(1)
    expect(run.at(-1)).toMatchObject({ type: 'agent.end', status: expect.stringMatching(/^(completed|suspended)$/) })
  }
})

test('each tool call of the offline model passes its schema', () => {
  const refusals = events.flatMap((event) => (event.type === 'tool.execute.error' ? [event.error.code] : []))
  expect(new Set(refusals)).toEqual(new Set(['dataflow_policy_blocked']))
})

test('the first line names the offline model, and a broken mail is reported without stopping the rest', () => {
  expect(first.err.split('\n')[0]).toContain('offline model: rule-based')
  expect(first.err).toContain('13-truncated.eml')
  expect(first.err).toContain('Not a readable mail: it is truncated')
  expect(first.err).toContain('16: 12 handled, 1 not, 3 waiting')
  expect(first.err).toMatch(/cost +unpriced/)
})

test('the database has the refunds that the orders permit', () => {
  const refunds = withOrders(data, (orders) =>
    Array.from({ length: 17 }, (_, i) => orders.orderById(1041 + i)).flatMap((order) =>
      (order?.refunds ?? []).map(({ amount, paidTo }) => `${order?.id} ${amount.toFixed(2)} ${paidTo}`),
    ),
  )
  expect(refunds).toEqual([
    '1041 49.90 card ending 4417',
    '1042 39.00 bank transfer',
    '1046 64.00 card ending 2250',
    '1048 76.00 card ending 6638',
    '1049 29.50 card ending 5189',
    '1052 42.60 card ending 1376',
    '1053 56.90 card ending 8844',
    '1054 54.00 card ending 3021',
    '1057 24.00 card ending 6004',
  ])
})

test('the replies quote the order database', () => {
  const reply = (name: string): string => readFileSync(join(data, 'outbox', name), 'utf8')
  expect(reply('02-delivery-status.reply-to-tobin@ashgrove.example.com.eml')).toContain(
    'parcel SP-4410-2291 with Swiftparcel and is due on 2026-11-13',
  )
  expect(reply('09-reply-with-history.reply-to-petra@hollmund.example.org.eml')).toContain('we refunded 29.50 EUR')
  expect(reply('10-two-orders.reply-to-ines.valdorra@example.net.eml')).toMatch(
    /refunded 54\.00 EUR.*\n\r?\n?.*1055.*9 days late/s,
  )
})

test('triage hands each mail to the responsible agent, which asks the researcher before deciding', () => {
  const went = new Map(
    events.flatMap((event) => (event.type === 'handoff.end' ? [[event.runId, event.to] as const] : [])),
  )
  const mails = events.flatMap((event) =>
    event.type === 'agent.start' && event.parents.length === 0 ? [event.runId] : [],
  )
  expect(mails.map((id) => went.get(id) ?? 'triage')).toEqual([
    'billing',
    'shipping',
    'retention',
    'billing',
    'retention',
    'billing',
    'billing',
    'billing',
    'billing',
    'billing',
    'billing',
    'triage',
    'shipping',
    'retention',
    'billing',
  ])
  const researched = events.filter(({ type, agent }) => type === 'agent.end' && agent === 'researcher')
  expect(researched.map(({ parents }) => parents.at(-1))).toEqual(mails.filter((id) => went.has(id)))
})

test('each letter is drafted twice, merged, corrected until it is signed, and sent', () => {
  const tries = events.flatMap((event) => (event.type === 'evaluator.iteration' ? [event] : []))
  expect(tries.filter(({ iteration }) => iteration === 1).map(({ feedback }) => feedback)).toEqual(
    Array.from({ length: 13 }, () => 'Sign as Tallow Lane Supply.'),
  )
  expect(tries.filter(({ accepted }) => accepted)).toHaveLength(13)
  const merged = events.flatMap((event) => (event.type === 'fanout.merged' ? [event.used] : []))
  expect(merged).toEqual(Array.from({ length: 13 }, () => ['warm-writer', 'plain-writer']))
  const letters = events.flatMap((event) =>
    event.type === 'tool.execute.end' && event.toolName === 'write_letter' && event.output.type === 'text'
      ? [event.output.value]
      : [],
  )
  const bodies = events.flatMap((event) =>
    event.type === 'tool.call.end' && event.toolName === 'draft_reply'
      ? [z.object({ body: z.string() }).parse(event.input).body]
      : [],
  )
  expect(letters).toHaveLength(13)
  expect(letters.filter((letter) => !bodies.includes(letter))).toEqual([])
})

test('the policy stops the gullible model at each injected mail, and the output shows it', () => {
  const stops = events.flatMap((event) =>
    event.type === 'governance.blocked' || event.type === 'governance.flagged' ? [event] : [],
  )
  expect(stops.map(({ rule, evidence }) => [rule, evidence])).toEqual([
    ['confidentiality', expect.objectContaining({ decision: 'deny', tool: 'forward_mail' })],
    ['confidentiality', expect.objectContaining({ decision: 'ask', tool: 'draft_reply' })],
    ['argument-origin', expect.objectContaining({ decision: 'ask', tool: 'refund' })],
    ['confidentiality', expect.objectContaining({ decision: 'deny', tool: 'draft_reply' })],
  ])
  expect(first.err).toMatch(/refused +2 tool calls/)
  expect(first.err).toContain('? 14-injected-visible.eml: draft_reply would send secret data')
  expect(first.err).toContain('? 15-injected-white-text.eml: refund: “XX42 TEST 0000 1111 2222”')
  expect(first.err).not.toContain('  ! ')
  expect(readdirSync(join(data, 'outbox')).filter((name) => /backup@|collect@/.test(name))).toEqual([])
})

test('the policy does not affect other mails', () => {
  const touched = new Set(events.flatMap((event) => (event.type.startsWith('governance.') ? [event.runId] : [])))
  expect(touched.size).toBe(injected.length)
  expect(readdirSync(join(data, 'outbox')).filter((name) => name.includes('.reply-to-'))).toHaveLength(12)
  // Three mails wait for a colleague: two calls that the policy asks about, and one large refund.
  expect(events.filter(({ type }) => type === 'agent.suspended')).toHaveLength(3)
})

test('--no-policy: nothing is stopped, and the output shows what the policy would stop', () => {
  expect(open.out).toContain('⚑ forward_mail would have been stopped by confidentiality')
  expect(open.out).toContain('⚑ refund would have been questioned by argument-origin')
  expect(open.out).toContain('! to backup@northgate-audit.example.net (14-injected-visible.eml)')
  expect(open.out).toContain('to XX42 TEST 0000 1111 2222, not the way it was paid (15-injected-white-text.eml)')
  expect(open.out).toContain(
    '! to collect@parcel-forms.example.net, who is not the sender (16-injected-attachment.eml)',
  )
  const forward = readdirSync(join(openData, 'outbox')).find((name) => name.includes('.forward-to-backup@'))
  expect(readFileSync(join(openData, 'outbox', forward ?? ''), 'utf8')).toContain('mara.feldkamp@example.org')
})

test('--code-mode: the model writes scripts, and the mails get the same results', async () => {
  const names = ['01-refund-request.eml', '15-injected-white-text.eml']
  const scripted = folder()
  const { code, out } = await desk(
    '--json',
    '--code-mode',
    '--data',
    scripted,
    ...names.flatMap((name) => ['--only', name]),
  )
  expect(code).toBe(0)
  const seen = eventsIn(out)
  const calls = seen.flatMap((event) => (event.type === 'tool.call.end' ? [event.toolName] : []))
  expect(new Set(calls)).toEqual(
    new Set(['code_execute', 'transfer_to_billing', 'transfer_to_retention', 'find_rules']),
  )
  const inner = seen.flatMap((event) =>
    event.type === 'tool.execute.start' && event.parentCallId ? [event.toolName] : [],
  )
  expect(inner).toContain('refund')
  expect(readdirSync(join(scripted, 'outbox')).filter((name) => name.includes('.reply-to-'))).toHaveLength(1)
  // The refund to another account waits for a colleague inside a script.
  expect(seen.filter(({ type }) => type === 'agent.suspended')).toHaveLength(1)
  // A decision needs none of the options that started the session.
  const listed = await desk('--sessions', '--data', scripted)
  const denied = await desk('--data', scripted, '--deny', / --deny (\S+)/.exec(listed.out)?.[1] ?? '')
  expect(denied).toMatchObject({ code: 0, out: expect.stringContaining('1 handled') })
})

test('data from mails is labelled untrusted, and data from the order database trusted', () => {
  const labels = new Map(
    events.flatMap((event) => (event.type === 'tool.execute.end' ? [[event.toolName, event.label] as const] : [])),
  )
  expect(labels.get('read_mail')).toMatchObject({ integrity: 'untrusted', confidentiality: 'internal' })
  expect(labels.get('find_customer')).toMatchObject({ integrity: 'trusted', confidentiality: 'secret' })
  expect(labels.get('find_orders')).toMatchObject({ integrity: 'trusted' })
})

test('a second start on the same data repeats no payment; --fresh starts over', async () => {
  const copy = folder()
  cpSync(data, copy, { recursive: true })
  const again = await desk(
    '--data',
    copy,
    '--only',
    '01-refund-request.eml',
    '--only',
    '04-latin1-quoted-printable.eml',
  )
  expect(again).toMatchObject({ code: 0, out: expect.stringMatching(/refunds +none/) })
  expect(again.out).toContain('was already refunded on')
  writeFileSync(join(copy, 'outbox', 'keep.txt'), 'not a draft')
  const fresh = await desk('--data', copy, '--only', '01-refund-request.eml', '--fresh')
  expect(fresh.out).toContain('49.90 EUR on order 1041')
  expect(readdirSync(join(copy, 'outbox')).toSorted()).toEqual([
    '01-refund-request.reply-to-mara.feldkamp@example.org.eml',
    'keep.txt',
  ])
})

test('without a terminal the view is plain text: headings, calls, words and a summary', async () => {
  const { code, out, err } = await desk('--data', folder(), '--only', '01-refund-request.eml')
  expect({ code, err }).toEqual({ code: 0, err: '' })
  expect(out).not.toContain('\u001b')
  expect(out.split('\n')[0]).toBe(
    'Provost desk, with the offline model: rule-based, no AI, nothing leaves this machine',
  )
  for (const piece of [
    '01-refund-request.eml  Refund for order 1041',
    '→ refund',
    '✓ 49.90 EUR to card ending 4417',
    'Summary',
  ])
    expect(out).toContain(piece)
})

test('a mail with escape sequences cannot write to the terminal', async () => {
  const dir = folder()
  const text =
    'From: "\u001b[31mEve" <eve@example.org>\nSubject: \u001b]0;owned\u0007 refund\nContent-Type: text/plain; charset=utf-8\n\nrefund \u001b[2J\u009b31m order 1041\n'
  writeFileSync(join(dir, 'escape.eml'), text)
  const [plain, json] = await Promise.all([
    desk('--mail', dir, '--data', folder()),
    desk('--json', '--mail', dir, '--data', folder()),
  ])
  for (const { code, out, err } of [plain, json]) {
    expect(code).toBe(0)
    // oxlint-disable-next-line no-control-regex
    expect(out + err).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/)
  }
  expect(plain.out).toContain(String.raw`\u001b`)
  expect(json.out).toContain('\\u001b[2J')
})

test('if no mail can be handled, the exit code is 1', async () => {
  const dir = folder()
  writeFileSync(join(dir, 'a.eml'), 'no mail at all')
  mkdirSync(join(dir, 'b.eml'))
  const { code, out } = await desk('--mail', dir, '--data', folder())
  expect(code).toBe(1)
  expect(out).toContain('2: 0 handled, 2 not')
})

test('a model server that rejects requests fails each mail with its reason', async () => {
  const server = createServer((request, response) => {
    const models = request.url === '/v1/models'
    response.writeHead(models ? 200 : 401, { 'content-type': 'application/json' })
    response.end(
      JSON.stringify(models ? { data: [{ id: 'm1' }] } : { error: { message: 'Incorrect API key provided' } }),
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const only = ['--only', '01-refund-request.eml', '--only', '02-delivery-status.eml']
  const env = { OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1` }
  const { code, out } = await deskIn(env, () => {}, '--data', folder(), ...only)
  server.close()
  expect(code).toBe(1)
  expect(out).toContain('2: 0 handled, 2 not')
  expect(out).toContain('02-delivery-status.eml: Incorrect API key provided')
})

test('--help lists the options', async () => {
  const { code, out, err } = await start('--help')
  expect({ code, err }).toEqual({ code: 0, err: '' })
  expect(out).toContain('--mail DIR')
})

test.each([
  [['--mial', 'x'], 'desk: There is no option --mial. --help lists the options.\n'],
  [['--mail', '/nowhere/at/all'], 'desk: The mail folder /nowhere/at/all does not exist.\n'],
  [
    ['--model', 'anthropic/claude-sonnet-5'],
    'desk: --model anthropic/claude-sonnet-5 needs ANTHROPIC_API_KEY, or AI_GATEWAY_API_KEY for the AI gateway.\n',
  ],
  [['--only', 'no.eml'], `desk: There is no "no.eml" in ${samples}.\n`],
  [
    ['--picture', samples],
    `desk: The picture cannot be drawn: EISDIR: illegal operation on a directory, open '${samples}'.\n`,
  ],
])('%j ends with one clear line and exit code 2', async (args, message) => {
  // The first case runs in its own process; in full runs all cases do.
  const run = full || args[0] === '--mial' ? start : desk
  expect(await run(...args, '--data', folder())).toEqual({ code: 2, out: '', err: message })
})

test('an error of Provost is one line with its hint', async () => {
  const dir = folder()
  const file = join(dir, 'sessions.sqlite')
  writeFileSync(file, 'no database, but long enough to be read as one'.repeat(100))
  const { code, out, err } = await desk('--data', dir, '--only', '01-refund-request.eml')
  expect({ code, out }).toEqual({ code: 2, out: '' })
  expect(err).toMatch(/^desk: The store .* cannot be opened: file is not a database\. .+\n$/)
})

test('a closed output pipe does not fail the help, and ends a working desk', async () => {
  const gone = () =>
    new Writable({ write: (_chunk, _encoding, done) => done(Object.assign(new Error('gone'), { code: 'EPIPE' })) })
  const io = () => ({ env: { OLLAMA_HOST: 'http://127.0.0.1:1' }, stdin: {}, stdout: gone(), stderr: gone() })
  expect(await runCommand(['--help'], io())).toBe(0)
  expect(await runCommand(['--data', folder()], io())).toBe(130)
})

test.skipIf(process.platform === 'win32')('Ctrl-C ends the current run and prints the summary', async () => {
  const dir = folder()
  for (let i = 0; i < 300; i++) cpSync(join(samples, '01-refund-request.eml'), join(dir, `${i}.eml`))
  // In full runs a signal ends a real process here. sessions.test.ts always kills one.
  const { finished, listen, interrupt } = (full ? startWork : work)('--json', '--mail', dir, '--data', folder())
  let interrupted = false
  listen(() => {
    if (!interrupted) interrupt()
    interrupted = true
  })
  const { code, out, err } = await finished
  expect(code).toBe(130)
  expect(eventsIn(out).at(-1)?.type).toBe('agent.end')
  expect(err).toMatch(/Summary\n.*1 not\n.*aborted\n +npm start -- .* --resume [\da-f-]+\n/)
})

test('--trace draws the spans of each mail', async () => {
  const { code, out } = await desk('--trace', '--data', folder(), '--only', '10-two-orders.eml')
  expect(code).toBe(0)
  const [, tree = ''] = /\n(invoke_agent triage[^]*?)\n\n/.exec(out) ?? []
  const names = tree.split('\n').map((line) => line.replace(/ [\d.]+ m?s .*/, '').replace(/ [\d.]+ m?s$/, ''))
  expect(names.slice(0, 3)).toEqual(['invoke_agent triage', '├─ chat rules', '├─ execute_tool read_mail'])
  expect(names).toEqual(
    expect.arrayContaining([
      expect.stringMatching(/^├─ execute_tool transfer.* billing/),
      expect.stringContaining('└─ invoke_agent billing'),
      expect.stringContaining('   ├─ execute_tool ask_policy'),
      expect.stringContaining('   │  └─ invoke_agent researcher'),
    ]),
  )
})

test('--otel sends traces and metrics to a collector', async () => {
  const bodies = new Map<string, string>()
  const collector = createServer((request, response) => {
    void textIn(request).then((body) => {
      bodies.set(request.url ?? '', body)
      response.setHeader('content-type', 'application/json').end('{}')
    })
  })
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve))
  const address = collector.address()
  const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`
  const args = ['--data', folder(), '--only', '10-two-orders.eml']
  // In this process the telemetry is unregistered again.
  const sent = await (full ? start : desk)('--otel', url, ...args)
  for (const api of [context, trace, metrics, diag]) api.disable()
  await new Promise((resolve) => collector.close(resolve))
  expect(sent.code).toBe(0)
  expect(bodies.get('/v1/traces')).toMatch(/provost-desk.*invoke_agent triage/)
  expect(bodies.get('/v1/metrics')).toContain('gen_ai.invoke_agent.duration')
  expect(sent.out).toContain('\ntraces: sent to http://127.0.0.1')
})

test.each([
  // Long enough for the refusal to arrive, on any machine.
  ['refuses', 2_000, 'ECONNREFUSED 127.0.0.1'],
  ['does not answer', 20, 'it did not answer within 0.02 s'],
])('a collector that %s does not delay the exit, and is named', async (does, patienceMs, why) => {
  const sockets = new Set<Socket>()
  const mute = createMute((socket) => void sockets.add(socket))
  await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve))
  const address = mute.address()
  const url = new URL(`http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`)
  if (does === 'refuses') await new Promise((resolve) => mute.close(resolve))
  const tracing = await openTracing({ to: 'collector', url }, false, patienceMs)
  trace.getTracer('test').startSpan('one').end()
  const problem = await tracing.close()
  for (const api of [context, trace, metrics, diag]) api.disable()
  for (const socket of sockets) socket.destroy()
  mute.close()
  expect(problem).toContain(`the collector at ${url.href}`)
  expect(problem).toContain(why)
})

test('--serve answers over HTTP until it is interrupted, in the traces of its requests', async () => {
  const traces: unknown[] = []
  const collector = createServer((request, response) => {
    textIn(request).then(
      (body) => {
        if (request.url === '/v1/traces') traces.push(JSON.parse(body))
        response.end('{}')
      },
      () => response.destroy(),
    )
  })
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve))
  const address = collector.address()
  const otel = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`
  const args = ['--serve', '--port', '0', '--data', folder(), '--model', 'offline', '--otel', otel]
  // In this process the telemetry is unregistered again.
  const served = (full ? startWork : work)(...args)
  const url = await new Promise<string>((resolve) => {
    let out = ''
    served.listen((text) => {
      out += text
      const [found] = /http:\/\/127\.0\.0\.1:\d+(?=\n)/.exec(out) ?? []
      if (found) resolve(found)
    })
  })
  const response = await fetch(`${url}/api/agent/execute`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    },
    body: JSON.stringify({ input: 'Handle the mail "01-refund-request.eml".' }),
  })
  const said = await response.text()
  expect(said).toContain('event: tool.execute.end')
  expect(said).toContain('event: execute_complete')
  served.interrupt()
  expect((await served.finished).code).toBe(0)
  for (const api of [context, trace, metrics, diag]) api.disable()
  await new Promise((resolve) => collector.close(resolve))
  const span = z.looseObject({ traceId: z.string(), parentSpanId: z.string().optional(), name: z.string() })
  const scopes = z.array(z.object({ scopeSpans: z.array(z.object({ spans: z.array(span) })) }))
  const spans = traces.flatMap((body) =>
    z
      .object({ resourceSpans: scopes })
      .parse(body)
      .resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans)),
  )
  const root = spans.find(({ name }) => name.startsWith('invoke_agent') && name.includes('triage'))
  expect(root).toMatchObject({ traceId: '0af7651916cd43dd8448eb211c80319c', parentSpanId: 'b7ad6b7169203331' })
  expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1)
})

test('a refund whose reply is lost is requested again, looked up, and paid once', async () => {
  const { code, out } = await desk('--lose-replies', '--only', '01-refund-request.eml', '--data', folder())
  expect(code).toBe(0)
  expect(out).toContain('✗ The reply of the bank was lost.')
  expect(out).toContain('refunds   1, total 49.90 EUR')
  expect(out).toContain('bank      1 request, 1 reply lost, 1 lookup, 0 questions, 1 payment')
})
