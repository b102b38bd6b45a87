// OpenTelemetry spans and metrics. Needs the package @opentelemetry/api.
export {
  collectSpans,
  currentRun,
  drawSpans,
  printSpans,
  spanTree,
  telemetry,
  traceHeaders,
  traceMeta,
  traceRequests,
  withTrace,
} from '@provost/telemetry'
export type {
  CollectedSpan,
  ContentKind,
  DrawOptions,
  FetchHandler,
  McpCall,
  PrintOptions,
  RunInContext,
  SpanCollector,
  SpanNode,
  TelemetryOptions,
  TraceRequestsOptions,
} from '@provost/telemetry'
