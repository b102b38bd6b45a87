/** Traces a run with the SDK beside it, of whatever version. One line of JSON on stdout, as checks.mjs. */
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'

import { createAgent, tool, z } from 'provost'
import { telemetry } from 'provost/telemetry'
import { scriptedModel } from 'provost/testing'

const manifest = createRequire(import.meta.url)('./package.json')
const isTwo = '@opentelemetry/sdk-trace-base' in manifest.dependencies
const check = `traces beside the OpenTelemetry SDK ${isTwo ? 2 : 3}`
try {
  const names = []
  const exporter = {
    export(spans, done) {
      names.push(...spans.map(({ name }) => name))
      done({ code: 0 })
    },
    shutdown: async () => {},
    forceFlush: async () => {},
  }
  const { trace } = await import('@opentelemetry/api')
  const sdk = await import(isTwo ? '@opentelemetry/sdk-trace-base' : '@opentelemetry/sdk-trace')
  const Provider = isTwo ? sdk.BasicTracerProvider : sdk.TracerProvider
  const provider = new Provider({ spanProcessors: [new sdk.SimpleSpanProcessor(isTwo ? exporter : { exporter })] })
  trace.setGlobalTracerProvider(provider)
  const add = tool({ name: 'add', effect: 'read', input: z.object({}), execute: () => 3 })
  const model = scriptedModel([{ toolCalls: [{ name: 'add', input: {} }] }, { text: 'three' }])
  await createAgent({ name: 'desk', model, tools: [add], extensions: [telemetry()] }).run('Add.')
  await provider.forceFlush()
  assert.deepEqual(new Set(names), new Set(['chat scripted-model', 'execute_tool add', 'invoke_agent desk']))
  assert.equal(names.length, 4)
  console.log(JSON.stringify({ check, ok: true }))
} catch (error) {
  console.log(JSON.stringify({ check, ok: false, seen: String(error?.message ?? error).slice(0, 300) }))
  process.exitCode = 1
}
