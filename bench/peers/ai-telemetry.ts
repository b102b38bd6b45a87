import { OpenTelemetry } from '@ai-sdk/otel'

/** The telemetry of the AI SDK, to be registered there. */
export function aiTelemetry(options: ConstructorParameters<typeof OpenTelemetry>[0]): OpenTelemetry {
  return new OpenTelemetry(options)
}
