import type { Meter, Tracer } from '@opentelemetry/api'
import type { Scrubber } from '@provost/core'

import type { ContentKind } from './content.ts'

/** Options of {@link telemetry}. */
export interface TelemetryOptions {
  /** Default: the tracer of the registered OpenTelemetry SDK. Without one, runs are not traced. */
  readonly tracer?: Tracer
  /** Default: the meter of the registered OpenTelemetry SDK. Without one, runs are not measured. */
  readonly meter?: Meter
  /**
   * Names of the metrics. `current`: those of the conventions of 2026. `classic`: `gen_ai.client.token.usage` and
   * `gen_ai.client.operation.duration` in their place, for existing dashboards. `both`: all of them. Metrics of Provost
   * have one name. Default `current`.
   */
  readonly metricNames?: 'current' | 'classic' | 'both'
  /**
   * Content that is recorded: `true` for all kinds, or a list of kinds. `messages`: the conversation. `instructions`:
   * system prompts. `tools`: arguments, results, evidence of policies. `errors`: error messages; codes are always
   * recorded. Content with a secret label is never recorded. Default `false`.
   */
  readonly recordContent?: boolean | readonly ContentKind[]
  /**
   * Removes further secrets from everything that is recorded, names included. The run's own secrets are always removed.
   */
  readonly scrubber?: Scrubber
  /** Largest attribute with content, in characters before they are escaped as JSON. Default 16,384. */
  readonly maxContentLength?: number
  /**
   * Names of tools that search a knowledge base. Their spans have the operation `retrieval`. Default: `memory_recall`.
   */
  readonly retrievalTools?: readonly string[]
  /** Names of tools that run code of the model. Their spans are named `execute_sandbox`. Default: `code_execute`. */
  readonly sandboxTools?: readonly string[]
}
