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
  withTrace,
} from '@provost/telemetry'
export type {
  CollectedSpan,
  ContentKind,
  DrawOptions,
  PrintOptions,
  RunInContext,
  SpanCollector,
  SpanNode,
  TelemetryOptions,
} from '@provost/telemetry'
