import type { Tracer } from '@opentelemetry/api'
import { ProxyTracerProvider, createNoopMeter, metrics, trace } from '@opentelemetry/api'
import { isRecord } from '@provost/core'

import manifest from '../../package.json' with { type: 'json' }
import type { Recorder } from '../attributes/content.ts'
import type { Meters, MetricNames } from '../attributes/meters.ts'
import { metersOf } from '../attributes/meters.ts'
import type { TelemetryOptions } from '../attributes/telemetry-options.ts'

/** Instruments with which a run is traced and measured. */
export interface Instruments extends Shared {
  readonly record: Recorder
}

/** The part that all runs share. */
export interface Shared {
  readonly tracer: Tracer
  readonly meters: Meters | undefined
  /** Names of retrieval tools. */
  readonly retrieval: ReadonlySet<string>
  /** Names of tools that run code of the model. */
  readonly sandbox: ReadonlySet<string>
}

/** Name and version of the scope under which backends show spans and metrics. */
export const scopeName = '@provost/telemetry'
export const version: string = manifest.version
const noTracing = new ProxyTracerProvider().getDelegate()
const noMeter = createNoopMeter().constructor

/**
 * Returns a function that looks up the instruments at the start of a run: an SDK may be registered after the agent was
 * created.
 *
 * @returns undefined when neither traces nor metrics are collected.
 */
export function instruments(options: TelemetryOptions): () => Shared | undefined {
  const retrieval = new Set(options.retrievalTools ?? ['memory_recall'])
  const sandbox = new Set(options.sandboxTools ?? ['code_execute'])
  const names = options.metricNames ?? 'current'
  const made = options.meter && metersOf(options.meter, names)
  const proxy = trace.getTracer(scopeName, version)
  let known: Shared | undefined
  let registered: Meters | undefined
  return () => {
    const meters = made ?? (registered ??= registeredMeters(names))
    if (!options.tracer && !meters && !isTraced()) return warnOfNothing()
    if (known?.meters !== meters || !known) known = { tracer: options.tracer ?? proxy, meters, retrieval, sandbox }
    return known
  }
}

let warned = false

/** Says once per process that nothing is collected, and why. */
function warnOfNothing(): undefined {
  if (warned) return
  warned = true
  const other = otherApi()
  const message = other
    ? `The registered OpenTelemetry SDK uses @opentelemetry/api ${other}, and telemetry() another version. Runs are not traced. Install one version for both: npm ls @opentelemetry/api shows them.`
    : 'telemetry() found no registered OpenTelemetry SDK, so runs are not traced. Register one before the first run, or remove the extension.'
  process.emitWarning(message, { type: 'ProvostTelemetry' })
}

/** Returns the version of an API that an SDK was registered with, if it is not the one that this module uses. */
function otherApi(): string | undefined {
  // The API keeps what is registered here, and ignores what another version has registered.
  const registered: unknown = Reflect.get(globalThis, Symbol.for('opentelemetry.js.api.1'))
  if (!isRecord(registered) || !isRecord(registered['trace'])) return undefined
  return typeof registered['version'] === 'string' ? registered['version'] : undefined
}

function isTraced(): boolean {
  const provider = trace.getTracerProvider()
  return !(provider instanceof ProxyTracerProvider) || provider.getDelegate() !== noTracing
}

function registeredMeters(names: MetricNames): Meters | undefined {
  const meter = metrics.getMeter(scopeName, version)
  return meter.constructor === noMeter ? undefined : metersOf(meter, names)
}
