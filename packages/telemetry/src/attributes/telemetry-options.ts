import type { Meter, Tracer } from '@opentelemetry/api'
import type { Scrubber } from '@provost/core'

import type { ContentKind } from './content.ts'

/** How runs are traced and measured. */
export interface TelemetryOptions {
  /** Default: that of the OpenTelemetry SDK which the process has registered; without one nothing is traced. */
  readonly tracer?: Tracer
  /** Default: likewise. */
  readonly meter?: Meter
  /**
   * What of the content is recorded: `true` for all of it, or the kinds that you name: `messages` (what was said),
   * `instructions` (system prompts), `tools` (arguments, results, evidence of policies), `errors` (their messages; codes
   * always are). What is labelled secret is not recorded in any case. Default `false`.
   */
  readonly recordContent?: boolean | readonly ContentKind[]
  /** Takes out of all that is recorded, names too, what the run does not know as a secret. The secrets of the run never get in. */
  readonly scrubber?: Scrubber
  /** Characters of content in one attribute. Default 16,384. */
  readonly maxContentLength?: number
  /** Names of tools that look things up in a knowledge base: their spans are of the operation `retrieval`. Default: `memory_recall`. */
  readonly retrievalTools?: readonly string[]
  /** Names of tools that run code of the model: their spans are called `execute_sandbox`. Default: `code_execute`. */
  readonly sandboxTools?: readonly string[]
}
