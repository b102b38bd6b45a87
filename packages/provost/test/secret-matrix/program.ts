import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { createServer, serve } from '@provost/server'
import { collectSpans, telemetry } from '@provost/telemetry'
import { createLogger } from '@provost/telemetry/logger'
import { createAgent, defineExtension, handoff, jsonlStore, ProvostError, rich, secretRef, tool, z } from 'provost'
import type { Json, JsonPointer, LabelInit } from 'provost'
import { createMemory } from 'provost/memory'
import { postgresStore } from 'provost/postgres'
import { exportSession } from 'provost/sessions'
import { sqliteMemory, sqliteStore } from 'provost/sqlite'
import { scriptedModel } from 'provost/testing'

import { cells, planted, plantedText } from './cells.ts'
import type { PlaceName } from './cells.ts'

// Tells what it knows in each place. What is told goes to the store, the stream, spans, lines of a logger and stderr.

const [, , folder = '.', kind = '', scrubs] = process.argv
const file = (name: string): string => join(folder, name)
for (const [n, { secret }] of cells.entries()) process.env[`CELL_${n}`] = secret
const secrets =
  scrubs === 'scrubs' ? Object.fromEntries(cells.map((_, n) => [`CELL_${n}`, secretRef(`env:CELL_${n}`)])) : {}

const store = kind.startsWith('postgres:')
  ? postgresStore(kind)
  : kind === 'jsonl'
    ? jsonlStore(file('sessions'))
    : sqliteStore(file('sessions.db'))
const { tracer, take } = collectSpans()
const lines: string[] = []
const log = createLogger({ destination: { write: (line) => void lines.push(line) } })
const text = plantedText
const base64 = (place: PlaceName, encoding: 'utf8' | 'utf16le' = 'utf8'): string =>
  Buffer.from(`of ${place}: ${text(place)}`, encoding).toString('base64')
const halves = (place: PlaceName): readonly string[] =>
  planted(place).flatMap((one) => [one.slice(0, one.length / 2), one.slice(one.length / 2), ' | '])
const sourced = (place: PlaceName): LabelInit => ({ integrity: 'untrusted', sources: planted(place).slice(0, 30) })
const open = z.looseObject({})
const dataOf = (mediaType: string, place: PlaceName, data = base64(place)) =>
  ({ type: 'file', mediaType, data: { type: 'data', data } }) as const

const tells = tool({
  name: 'tells',
  effect: 'read',
  input: open,
  async *execute(_, ctx) {
    for (const half of halves('yield-in-pieces')) yield half
    for (const half of halves('yielded-values')) yield { seen: { so: half } }
    for (const half of halves('progress-in-two')) ctx.progress({ out: [half] })
    ctx.progress(text('progress'))
    log.info({ [text('logged')]: planted('logged') }, text('logged'))
    log.error(new Error(text('logged-error'), { cause: new Error(text('logged-error')) }))
    const hash = await ctx.putBlob(Buffer.from(text('blob')))
    await agent.progress.write(text('artifact'), { role: 'plan', seq: 1 })
    const schema = { description: text('question-schema'), enum: [...planted('question-schema')] }
    await ctx.ask({ message: text('question'), schema: { type: 'string', ...schema } })
    const fields: Record<JsonPointer, LabelInit> = { '/hash': sourced('field-sources') }
    yield rich(
      { hash, said: text('result'), [text('result-key')]: 1 },
      { details: { said: text('details') }, label: sourced('label-sources'), fields },
    )
  },
})
const gives = tool({
  name: 'gives',
  effect: 'read',
  input: open,
  execute: () =>
    rich(null, {
      content: [
        dataOf('application/x-yaml', 'yaml-file'),
        dataOf('application/octet-stream', 'octets'),
        dataOf('image/png', 'utf16-file', base64('utf16-file', 'utf16le')),
        {
          type: 'file',
          mediaType: 'text/plain',
          data: { type: 'url', url: `data:text/plain;base64,${base64('data-url')}` },
        },
      ],
    }),
})
const fails = tool({
  name: 'fails',
  effect: 'read',
  input: open,
  execute() {
    const cause = new Error(text('tool-error'))
    throw new ProvostError('no-such-thing', text('tool-error'), { hint: text('error-hint'), cause })
  },
})
const asks = tool({
  name: 'asks',
  effect: 'write',
  input: open,
  needsApproval: () => ({ reason: text('approval-reason'), evidence: { said: planted('approval-evidence') } }),
  execute: () => 'done',
})
const remote = tool({ name: 'remote', effect: 'write', input: open })
const child = createAgent({
  name: 'child',
  model: scriptedModel([{ text: text('child') }]),
})
const last = createAgent({
  name: 'last',
  model: scriptedModel([
    { error: Object.assign(new Error('again'), { status: 500 }) },
    { error: Object.assign(new Error(text('model-error')), { status: 400 }) },
  ]),
})
const hooks = defineExtension({
  name: 'hooks',
  scope: 'tree',
  hooks: {
    'session.start': () => text('session-start'),
    'model.error': (failure) => (failure.attempt === 1 ? { retryAfterMs: 0 } : undefined),
    async 'tool.call'(call, ctx) {
      if (call.tool.name !== 'gives') return
      const sources = planted('audit-sources')
      await ctx.audit('flagged', {
        rule: 'r',
        callId: call.callId,
        sources,
        evidence: { said: text('audit-evidence') },
      })
      await ctx.append('k', { said: text('hook-data') })
      for (const one of planted('memo-key')) await ctx.memo(one, () => 1)
      await ctx.memo('m', () => text('memo'))
      ctx.emit({ said: text('hook-event') })
    },
  },
})
const pieces = halves('model-text-in-pieces')
const calling = (name: string, input: Json = {}) => ({ toolCalls: [{ name, input }] })
const agent = createAgent({
  name: 'desk',
  store,
  secrets,
  model: scriptedModel([
    { reasoning: text('reasoning'), text: text('model-text'), ...calling('tells') },
    {
      reasoning: { text: 'well', providerMetadata: { test: { said: text('provider-options') } } },
      text: pieces,
      ...calling('gives'),
    },
    calling('fails'),
    calling('note', { said: text('call-arguments') }),
    calling('asks'),
    calling('remote'),
    calling('ask_child', { task: 'go' }),
    calling('memory_remember', { text: text('memory') }),
    calling('transfer_to_last', { reason: text('handoff-reason') }),
  ]),
  tools: [
    tells,
    gives,
    fails,
    asks,
    remote,
    tool({ name: 'note', effect: 'write', input: open, execute: () => 'noted' }),
    child.toTool({ name: 'ask_child', description: 'Asks.' }),
  ],
  handoffs: [handoff(last)],
  extensions: [
    hooks,
    telemetry({ tracer, recordContent: true, maxContentLength: 10_000_000 }),
    createMemory({ store: sqliteMemory(file('memory.db')) }),
  ],
})

const server = await serve(
  createServer({
    agents: [agent],
    store,
    authenticate: () => ({ id: 'ann', claims: { said: text('claims') } }),
    approvals: { by: 'requester' },
    onError: (error) => console.error(error),
  }),
  { port: 0 },
)

const told: string[] = []
let sessionId = ''

async function execute(body: Json): Promise<Json> {
  const response = await fetch(`${server.url}/api/agent/execute?verbose=1`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer ann' },
    body: JSON.stringify(body),
  })
  sessionId = response.headers.get('x-session-id') ?? sessionId
  let said = ''
  const answered = new Set<string>()
  for await (const chunk of (response.body ?? new ReadableStream()).pipeThrough(new TextDecoderStream())) {
    said += chunk
    for (const [, data = ''] of said.matchAll(/^data: (.*"type":"input\.requested".*)\n/gm)) {
      const { token } = z.object({ token: z.string() }).parse(JSON.parse(data))
      if (answered.has(token)) continue
      answered.add(token)
      void execute({ sessionId, inputs: [{ id: token, value: 'yes' }] })
    }
  }
  told.push(said)
  return z.json().parse(JSON.parse(/^data: (.*execute_complete.*)$/m.exec(said)?.[1] ?? 'null'))
}

const pendings = z.looseObject({
  pending: z.looseObject({
    approvals: z.array(z.looseObject({ id: z.string() })),
    remoteCalls: z.array(z.looseObject({ callId: z.string() })),
  }),
})
let body: Json = { input: [{ type: 'text', text: text('input') }, dataOf('application/octet-stream', 'file-of-input')] }
for (let round = 0; round < 5; round++) {
  const complete: unknown = await execute(body)
  const waits = pendings.safeParse(complete).data?.pending
  if (!waits || waits.approvals.length + waits.remoteCalls.length === 0) break
  body = {
    sessionId,
    approvals: waits.approvals.map(({ id }) => ({ id, decision: 'approve', reason: text('approval-note') })),
    toolResults: waits.remoteCalls.map(({ callId }) => ({ callId, output: { said: text('remote-result') } })),
  }
}
const again = await (
  await fetch(`${server.url}/api/agent/session/${sessionId}/events`, { headers: { authorization: 'Bearer ann' } })
).text()
console.error(agent.scrub(new Error(text('stderr'))))

const exported: string[] = []
for await (const line of exportSession(store, sessionId)) exported.push(line)
const entries: unknown[] = []
for await (const entry of store.read(sessionId)) entries.push(entry)
writeFileSync(file('stream.txt'), told.join('\n'))
writeFileSync(file('events.txt'), again)
writeFileSync(file('export.txt'), exported.join(''))
writeFileSync(file('log.txt'), JSON.stringify(entries))
writeFileSync(file('spans.txt'), JSON.stringify(take()))
writeFileSync(file('lines.txt'), lines.join(''))
await server.close()
await store.close()
