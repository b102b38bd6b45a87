import { context, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { telemetry } from 'provost/telemetry'

import { createDesk } from './desk.mjs'

const { LANGFUSE_BASE_URL = 'https://cloud.langfuse.com', LANGFUSE_PUBLIC_KEY, LANGFUSE_SECRET_KEY } = process.env
const credentials = Buffer.from(`${LANGFUSE_PUBLIC_KEY}:${LANGFUSE_SECRET_KEY}`).toString('base64')
const exporter = new OTLPTraceExporter({
  url: `${LANGFUSE_BASE_URL}/api/public/otel/v1/traces`,
  headers: { authorization: `Basic ${credentials}`, 'x-langfuse-ingestion-version': '4' },
})
const provider = new TracerProvider({ spanProcessors: [new BatchSpanProcessor({ exporter })] })
trace.setGlobalTracerProvider(provider)
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())

const desk = createDesk({ extensions: [telemetry({ recordContent: true })] })
await desk.run('Where is order 17?', { principal: { id: 'ann' } })
// What is in the batch is sent before the process ends.
await provider.shutdown()
