// OpenTelemetry spans and metrics. Needs the package @opentelemetry/api.
export * from '@provost/telemetry'
