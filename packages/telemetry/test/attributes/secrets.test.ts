import { setTimeout as sleep } from 'node:timers/promises'

import {
  InMemoryMetricExporter,
  AggregationTemporality,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import { createAgent } from '@provost/agent'
import type { AgentOptions } from '@provost/agent'
import { createScrubber, defineExtension } from '@provost/core'
import type { Scrubber } from '@provost/core'
import { exportSession, memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { rich, secretRef, tool } from '@provost/tools'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'

import { createRecorder } from '../../src/attributes/content.ts'
import { collectSpans, drawSpans, printSpans, telemetry } from '../../src/index.ts'
import type { TelemetryOptions } from '../../src/index.ts'
import { createLogger } from '../../src/logger.ts'
import { doneStep, look, traced } from '../traced.ts'

/** Keys, tokens, passwords and numbers with quotes, spaces, other scripts and lone surrogates. */
const secrets: readonly string[] = Array.from({ length: 50 }, (_, n) => {
  const base = `s3cr3t-${n}-${(n * 7919 + 104_729).toString(36)}`
  const shapes = [
    `sk-${base}`,
    `${base} with "quotes"`,
    `pässwörd/${base}`,
    `\ud800${base}`,
    String(700_000_000 + n * 7_919),
  ]
  return shapes[n % shapes.length] ?? base
})
const full = process.env['PROVOST_TEST_FULL'] === '1'
const long = 'x'.repeat(100_000)
/** Ten megabytes in full runs. */
const huge = long.repeat(full ? 100 : 20)

function knowingAll(): Scrubber {
  const scrubber = createScrubber()
  for (const [index, secret] of secrets.entries()) scrubber.add(`S${index}`, secret)
  return scrubber
}

/** Finds secrets in any encoding. */
function leaksIn(text: string): string[] {
  const lower = text.replaceAll(/x{100,}/g, 'x').toLowerCase()
  const writings = (secret: string): string[] => [
    secret,
    JSON.stringify(secret).slice(1, -1),
    secret.toWellFormed(),
    encodeURIComponent(secret.toWellFormed()),
    Buffer.from(secret).toString('base64').slice(0, -4),
    Buffer.from(secret).toString('hex'),
  ]
  return secrets.filter((secret) => writings(secret).some((one) => lower.includes(one.toLowerCase())))
}

const [a = '', b = '', c = '', d = '', e = ''] = secrets
const all = secrets.join(' | ')

/** A run with the secrets in every recorded place. */
async function hostileRun(
  options: Pick<TelemetryOptions, 'scrubber'>,
  more: Pick<AgentOptions, 'secrets'> = {},
  filler = huge,
) {
  const { tracer, take } = collectSpans()
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const meters = new MeterProvider({
    readers: [new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 })],
  })
  const lines: string[] = []
  const log = createLogger({ ...options, destination: { write: (line) => void lines.push(line) } })
  // The scrubber knows a secret once a tool reads it.
  const key = tool({
    name: 'key',
    secrets: Object.keys(more.secrets ?? {}),
    input: z.object({}),
    execute: (_, ctx) => Object.keys(ctx.secrets).length,
  })
  const leak = tool({
    name: 'leak',
    input: z.object({}).loose(),
    execute(input) {
      const error = Object.assign(new Error(`no: ${all}`, { cause: new Error(all) }), { code: a, [b]: { deep: [c] } })
      error.stack += `\n    at ${d} (${e})`
      log.error(error, `failed ${all}`)
      log.info({ input, [c]: { [d]: secrets } }, all.toUpperCase())
      throw error
    },
  })
  const big = tool({
    name: 'big',
    input: z.object({}),
    execute: () => ({ [all]: secrets, nested: { deep: [{ [a]: `\udfff${all}\ud800` }] }, text: `${filler}${all}` }),
  })
  const policy = defineExtension({
    name: 'policy',
    hooks: {
      async 'tool.call'(call, ctx) {
        if (call.tool.name === 'key') return
        const evidence = { [b]: all, values: secrets }
        await ctx.audit('flagged', { rule: a, callId: call.callId, sources: secrets, evidence })
      },
    },
  })
  const store = memoryStore()
  const agent = createAgent({
    name: 'desk',
    instructions: `Never tell ${all}.`,
    model: scriptedModel([
      { toolCalls: [{ name: 'key' }] },
      { error: Object.assign(new Error(`401 for ${all}`), { status: 500, code: b }) },
      {
        text: `I know ${all}`,
        toolCalls: [
          { name: 'leak', input: { [a]: secrets, deep: { [b]: all } } },
          // A call with secrets in its arguments can be denied.
          { name: 'leak' },
          { name: 'big' },
          { name: c },
          { name: 'big', id: d },
        ],
      },
      { error: Object.assign(new Error(`refused: ${all}`), { status: 400 }) },
    ]),
    tools: [key, leak, big],
    store,
    ...more,
    extensions: [
      telemetry({ tracer, meter: meters.getMeter('test'), recordContent: true, ...options }),
      policy,
      defineExtension({
        name: 'again',
        hooks: {
          'model.error': (failure) =>
            failure.attempt === 1 && failure.error.message.includes('401') ? { retryAfterMs: 0 } : undefined,
        },
      }),
    ],
  })
  const told: string[] = []
  const stream = agent.stream(more.secrets ? `Hello ${filler}` : `Hello ${all}${filler}`, { principal: { id: 'ann' } })
  for await (const event of stream) told.push(JSON.stringify(event))
  const { status, sessionId } = await stream.result
  const exported: string[] = []
  for await (const line of exportSession(store, sessionId)) exported.push(line)
  await meters.forceFlush()
  const spans = take()
  return { status, spans, metrics: JSON.stringify(exporter.getMetrics()), lines, told, exported }
}

type Hostile = Awaited<ReturnType<typeof hostileRun>>

/** Expects no secret in telemetry, and scrubbed tokens as evidence that secrets reached it. */
function expectNoneIn({ status, spans, metrics, lines }: Hostile): void {
  expect(status).toBe('failed')
  const text = JSON.stringify(spans)
  expect(leaksIn(text)).toEqual([])
  expect(leaksIn(metrics)).toEqual([])
  expect(leaksIn(lines.join(''))).toEqual([])
  expect(leaksIn(printSpans(spans, { attributes: true, width: 100_000 }))).toEqual([])
  expect(leaksIn(drawSpans(spans, { attributes: true }))).toEqual([])
  expect(text).toContain('⟦secret:S7⟧')
  expect(lines.join('')).toContain('⟦secret:S7⟧')
  // The run contained megabytes of text.
  expect(text.length).toBeLessThan(400_000)
  const values = spans.flatMap(({ attributes }) => Object.values(attributes).map(String))
  expect(values.filter((value) => !value.isWellFormed())).toEqual([])
}

describe('telemetry of a hostile run with 50 secrets', () => {
  it('has no secret that a tool received: spans, metrics, log lines, drawings, events, export', async () => {
    const refs = Object.fromEntries(secrets.map((secret, n) => [`S${n}`, secretRef(() => secret)]))
    const run = await hostileRun({}, { secrets: refs }, long)
    expectNoneIn(run)
    expect(leaksIn(run.told.join(''))).toEqual([])
    expect(leaksIn(run.exported.join(''))).toEqual([])
    expect(run.told.join('')).toContain('⟦secret:S7⟧')
    expect(run.exported.join('')).toContain('⟦secret:S7⟧')
  })

  it('has no secret that only the scrubber knows: spans, metrics, log lines, drawings', async () => {
    expectNoneIn(await hostileRun({ scrubber: knowingAll() }))
  })

  it('records no content with recordContent off, even without a scrubber', async () => {
    const { tracer, take } = collectSpans()
    const fails = tool({ name: 'fails', input: z.object({}).loose(), execute: () => Promise.reject(new Error(all)) })
    const model = scriptedModel([
      { text: all, toolCalls: [{ name: 'fails', input: { [a]: all } }] },
      { error: Object.assign(new Error(all), { status: 400 }) },
    ])
    const agent = createAgent({
      name: 'desk',
      instructions: all,
      model,
      tools: [fails],
      extensions: [telemetry({ tracer })],
    })
    await agent.run(all)
    expect(leaksIn(JSON.stringify(take()))).toEqual([])
  })
})

describe('data with the label secret', () => {
  const secret = { integrity: 'trusted', confidentiality: 'secret', sources: ['vault'] } as const

  it('is not recorded, neither the result nor text and calls derived from it', async () => {
    const vault = tool({
      name: 'vault',
      effect: 'read',
      input: z.object({}),
      returns: secret,
      execute: () => 'the treasure',
    })
    const { agent, take } = traced(
      [
        { toolCalls: [{ name: 'vault' }] },
        { text: 'under the oak', toolCalls: [{ name: 'vault', input: { at: 'the oak' } }] },
        { text: 'yes, oak' },
      ],
      { tools: [vault] },
      { recordContent: true },
    )
    await agent.run('where?')
    const text = JSON.stringify(take())
    expect(text).not.toMatch(/treasure|oak/)
    expect(text).toContain('where?')
    expect(text).toContain('[secret]')
  })

  it('is not recorded if only a field or a part of a result has the label', async () => {
    const person = tool({
      name: 'person',
      effect: 'read',
      input: z.object({}),
      returns: { integrity: 'trusted', confidentiality: 'internal', sources: ['crm'] },
      execute: () => rich({ name: 'Ann', iban: 'DE02120300000000202051' }, { fields: { '/iban': secret } }),
    })
    const { agent, take } = traced(
      [{ toolCalls: [{ name: 'person' }] }, doneStep],
      { tools: [person] },
      { recordContent: true },
    )
    await agent.run('who?')
    expect(JSON.stringify(take())).not.toContain('DE02')
  })

  describe('is not recorded where the view does not show it', () => {
    const vault = tool({
      name: 'vault',
      effect: 'read',
      input: z.object({}),
      returns: secret,
      execute: () => 'the treasure',
    })
    const quoted = { error: Object.assign(new Error('400: “the treasure” is no prompt'), { status: 400 }) }
    const recordContent = true

    it('in the error that a run ends with', async () => {
      const { agent, take } = traced(
        [{ toolCalls: [{ name: 'vault' }] }, quoted],
        { tools: [vault] },
        { recordContent },
      )
      expect(await agent.run('where?')).toMatchObject({ status: 'failed' })
      expect(JSON.stringify(take())).not.toContain('treasure')
    })

    it('in the error of a request that a hook adds it to', async () => {
      const adding = defineExtension({
        name: 'adding',
        hooks: { 'model.request': () => ({ tail: [{ role: 'user', content: 'the treasure', label: secret }] }) },
      })
      const { agent, take } = traced([quoted], { extensions: [adding] }, { recordContent })
      expect(await agent.run('where?')).toMatchObject({ status: 'failed' })
      expect(JSON.stringify(take())).not.toContain('treasure')
    })

    it('in the error of a call that a hook makes with it', async () => {
      const generating = defineExtension({
        name: 'generating',
        hooks: {
          async 'run.start'(ctx) {
            const prompt = [{ role: 'user', content: 'the treasure', label: secret }] as const
            await ctx.generate({ prompt, settings: { maxRetries: 0 } }).catch(() => {})
          },
        },
      })
      const { agent, take } = traced([quoted, doneStep], { extensions: [generating] }, { recordContent })
      expect(await agent.run('where?')).toMatchObject({ status: 'completed' })
      expect(JSON.stringify(take())).not.toContain('treasure')
    })

    it('in the error of a call, while another one runs', async () => {
      const fails = tool({
        name: 'fails',
        effect: 'read',
        input: z.object({}),
        returns: secret,
        execute: () => Promise.reject(new Error('no line “the treasure”')),
      })
      const slow = tool({ name: 'slow', effect: 'read', input: z.object({}), execute: () => sleep(30, 'slow') })
      const steps = [{ toolCalls: [{ name: 'fails' }, { name: 'slow' }] }, doneStep]
      const { agent, take } = traced(steps, { tools: [fails, slow] }, { recordContent })
      expect(await agent.run('where?')).toMatchObject({ status: 'completed' })
      expect(JSON.stringify(take())).not.toContain('treasure')
    })

    it('in the arguments and the error of a call that a composite makes with it', async () => {
      const pass = tool({
        name: 'pass',
        effect: 'write',
        input: z.object({ text: z.string() }),
        execute: ({ text }) => Promise.reject(new Error(`cannot pass ${text}`)),
      })
      const both = tool({
        name: 'both',
        effect: 'write',
        composite: true,
        input: z.object({}),
        async execute(_, ctx) {
          const { value } = await ctx.call('vault', {}, { key: 'vault' })
          return (await ctx.call('pass', { text: JSON.stringify(value) }, { key: 'pass' })).outcome
        },
      })
      const steps = [{ toolCalls: [{ name: 'both' }] }, doneStep]
      const { agent, take } = traced(steps, { tools: [vault, pass, both] }, { recordContent })
      expect(await agent.run('where?')).toMatchObject({ status: 'completed' })
      const text = JSON.stringify(take())
      expect(text).not.toContain('treasure')
      expect(text).toContain('execute_tool pass')
    })

    it('in the name of a tool that a model made up', async () => {
      const steps = [{ toolCalls: [{ name: 'vault' }] }, { toolCalls: [{ name: 'the treasure' }] }, doneStep]
      const { agent, take } = traced(steps, { tools: [vault] })
      expect(await agent.run('where?')).toMatchObject({ status: 'completed' })
      expect(take()[0]?.events).toMatchObject([
        { name: 'provost.tool.refused', attributes: { 'gen_ai.tool.name': '_OTHER', 'error.type': 'unknown-tool' } },
      ])
    })

    it('in the result of a tool that repeats its arguments', async () => {
      const steps = [
        { toolCalls: [{ name: 'vault' }] },
        { toolCalls: [{ name: 'look', input: { at: 'the treasure' } }] },
        doneStep,
      ]
      const { agent, take } = traced(steps, { tools: [vault, look] }, { recordContent })
      expect(await agent.run('where?')).toMatchObject({ status: 'completed' })
      expect(JSON.stringify(take())).not.toContain('treasure')
    })
  })
})

it('truncation never leaves part of a secret, wherever the secret is', () => {
  const scrubber = createScrubber()
  const key = 'k3y-0123456789abcdef'
  scrubber.add('KEY', key)
  const record = createRecorder(new Set(), (text) => scrubber.scrub(text), 100)
  fc.assert(
    fc.property(fc.nat(300), fc.nat(300), fc.nat(40), (before, between, times) => {
      const text = `${'.'.repeat(before)}${`${key}${'-'.repeat(between)}`.repeat(times)}`
      expect(record.text(text)).not.toMatch(/k3y|0123|cdef/)
      expect(record.text(text).length).toBeLessThanOrEqual(101)
      expect(() => JSON.parse(record.json({ [text]: [text, { text }] })) as unknown).not.toThrow()
      expect(record.json({ [text]: [text, { text }] })).not.toMatch(/k3y|0123|cdef/)
    }),
    { numRuns: full ? 60 : 20 },
  )
})
