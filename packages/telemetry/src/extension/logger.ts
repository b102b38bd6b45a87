import { context, trace } from '@opentelemetry/api'
import type { KnownKeys, Scrubber } from '@provost/core'
import { checkOptions } from '@provost/core'
import type { DestinationStream, Level, Logger } from 'pino'
import { pino } from 'pino'

import { scrubbedJson } from '../attributes/content.ts'
import { currentRun } from '../spans/run-context.ts'

/** Options of {@link createLogger}. */
export interface LoggerOptions {
  /** Default `info`. */
  readonly level?: Level | 'silent'
  /** The name of the logger. */
  readonly name?: string
  /**
   * Removes secrets from everything in a line, by value: messages, fields at any depth, keys, errors with their stacks.
   * The secrets of the run that writes the line are always removed.
   */
  readonly scrubber?: Scrubber
  /** Default: standard output. */
  readonly destination?: DestinationStream
}

const optionKeys = {
  level: true,
  name: true,
  scrubber: true,
  destination: true,
} satisfies KnownKeys<LoggerOptions>

/**
 * Creates a pino logger. Its lines name their run and span, and contain no secret.
 *
 * If the agent has the telemetry extension, a line of its tools, hooks and models has `run_id`, `session_id` and
 * `agent`. A line that is written inside a span has its `trace_id` and `span_id`.
 *
 * @example
 * const log = createLogger({ scrubber })
 * log.info({ order: 17 }, 'refunded')
 */
export function createLogger(options: LoggerOptions = {}): Logger {
  checkOptions(options, optionKeys, 'createLogger')
  const { level = 'info', name, scrubber, destination } = options
  const settings = {
    level,
    ...(name !== undefined && { name }),
    mixin: idsOfLine,
    hooks: { streamWrite: (line: string) => withoutSecrets(line, scrubber) },
  }
  return destination ? pino(settings, destination) : pino(settings)
}

/** Scrubs a line when it is written, whatever it was built from. The line stays JSON. */
function withoutSecrets(line: string, scrubber: Scrubber | undefined): string {
  const run = currentRun()
  if (!scrubber && !run) return line
  const scrub = (text: string): string => {
    const known = scrubber ? scrubber.scrub(text) : text
    return run ? run.scrub(known) : known
  }
  const scrubbed = scrub(line)
  if (scrubbed === line) return line
  try {
    // A number that held a secret becomes a text.
    return `${JSON.stringify(scrubbedJson(JSON.parse(line), scrub))}\n`
  } catch {
    return scrubbed
  }
}

function idsOfLine(): Record<string, string> {
  const run = currentRun()
  const span = trace.getSpanContext(context.active()) ?? run?.span
  return {
    ...(run && { run_id: run.runId, session_id: run.sessionId, agent: run.agent }),
    ...(span && {
      trace_id: span.traceId,
      span_id: span.spanId,
      trace_flags: span.traceFlags.toString(16).padStart(2, '0'),
    }),
  }
}
