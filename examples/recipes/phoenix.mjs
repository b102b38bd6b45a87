import { convertGenAISpanAttributesToOpenInferenceSpanAttributes as convert } from '@arizeai/openinference-genai'
import { context, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { telemetry } from 'provost/telemetry'

import { createDesk } from './desk.mjs'

const { PHOENIX_COLLECTOR_ENDPOINT = 'http://localhost:6006', PHOENIX_API_KEY } = process.env
// Phoenix takes protobuf only.
const phoenix = new OTLPTraceExporter({
  url: `${PHOENIX_COLLECTOR_ENDPOINT}/v1/traces`,
  headers: PHOENIX_API_KEY ? { authorization: `Bearer ${PHOENIX_API_KEY}` } : {},
})

/** Adds the attributes that Phoenix reads to a span that has ended. */
function withOpenInference(span) {
  const value = { ...span.attributes, ...convert(span.attributes) }
  return Object.create(span, { attributes: { value, enumerable: true } })
}
const exporter = {
  export: (spans, done) => phoenix.export(spans.map(withOpenInference), done),
  forceFlush: () => phoenix.forceFlush(),
  shutdown: () => phoenix.shutdown(),
}
const resource = resourceFromAttributes({ 'openinference.project.name': 'desk' })
const provider = new TracerProvider({ resource, spanProcessors: [new BatchSpanProcessor({ exporter })] })
trace.setGlobalTracerProvider(provider)
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())

const desk = createDesk({ extensions: [telemetry({ recordContent: true })] })
await desk.run('Where is order 17?', { principal: { id: 'ann' } })
// What is in the batch is sent before the process ends.
await provider.shutdown()
