import type { Attributes, Meter, ObservableCounter } from '@opentelemetry/api'
import type { ModelOutcome } from '@provost/core'

import type { Operation } from './semconv.ts'
import { attr, classicMetric, metric } from './semconv.ts'

/** Which names metrics with a convention have. */
export type MetricNames = 'current' | 'classic' | 'both'

/** The instruments of an extension, created when a meter is available. */
export interface Meters {
  /** Returns the instruments of one model. */
  model(provider: string, model: string): ModelMeters
  agent(seconds: number, inferences: number, tools: number, attributes: Attributes): void
  tool(seconds: number, operation: Operation, name: string, error: string | undefined): void
  workflow(seconds: number, attributes: Attributes): void
  approval(seconds: number, attributes: Attributes): void
  compaction(seconds: number, tokens: number, attributes: Attributes): void
  count(what: 'turns' | 'queued' | 'retries' | 'fallbacks' | 'governance', attributes: Attributes): void
}

/** Instruments for the calls of one model. */
export interface ModelMeters {
  /** Records a call: its duration in `seconds`, and the type of its error. */
  inference(outcome: ModelOutcome | undefined, seconds: number, error: string | undefined): void
  firstChunk(seconds: number): void
  outputChunk(seconds: number): void
}

/** Histogram bounds that the conventions recommend for durations and tokens. */
const seconds = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92]
const tokens = [1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864]
const chunkSeconds = [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4]
/** Humans take longer than machines. */
const humanSeconds = [1, 5, 15, 60, 300, 900, 3600, 14400, 43200, 86400, 259200, 604800]
const calls = [0, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89]

const made = new WeakMap<Meter, Map<MetricNames, Meters>>()

/** Returns the instruments of a meter. Extensions with the same meter add to the same sums. */
export function metersOf(meter: Meter, names: MetricNames): Meters {
  const byNames = made.get(meter) ?? new Map<MetricNames, Meters>()
  made.set(meter, byNames)
  let meters = byNames.get(names)
  if (!meters) byNames.set(names, (meters = createMeters(meter, names)))
  return meters
}

function createMeters(meter: Meter, names: MetricNames): Meters {
  const counter = (name: string, unit: string): ReturnType<Meter['createCounter']> =>
    meter.createCounter(name, { unit })
  const histogram = (name: string, unit: string, bounds: number[]): ReturnType<Meter['createHistogram']> =>
    meter.createHistogram(name, { unit, advice: { explicitBucketBoundaries: bounds } })
  const sum = (name: string, unit: string): ObservableCounter => meter.createObservableCounter(name, { unit })
  // One classic name stands for several current ones, told apart by attributes.
  const isCurrent = names !== 'classic'
  const classic = names !== 'current' && {
    tokens: histogram(classicMetric.tokens, '{token}', tokens),
    duration: histogram(classicMetric.duration, 's', seconds),
  }
  const sums: Readonly<Partial<Record<keyof Used, ObservableCounter>>> = {
    ...(isCurrent && {
      inputTokens: sum(metric.inputTokens, '{token}'),
      outputTokens: sum(metric.outputTokens, '{token}'),
      cacheReadTokens: sum(metric.cacheRead, '{token}'),
      cacheWriteTokens: sum(metric.cacheWrite, '{token}'),
      reasoningTokens: sum(metric.reasoning, '{token}'),
    }),
    cost: sum(metric.cost, 'USD'),
  }
  const current = isCurrent && {
    operationInput: histogram(metric.operationInput, '{token}', tokens),
    operationOutput: histogram(metric.operationOutput, '{token}', tokens),
    inference: histogram(metric.inference, 's', seconds),
    agent: histogram(metric.agent, 's', seconds),
    tool: histogram(metric.tool, 's', seconds),
    workflow: histogram(metric.workflow, 's', seconds),
  }
  function lasted(what: 'inference' | 'agent' | 'tool' | 'workflow', took: number, attributes: Attributes): void {
    if (current) current[what].record(took, attributes)
    if (classic) classic.duration.record(took, { [attr.operation]: classicOperations[what], ...attributes })
  }
  function exchanged(direction: 'input' | 'output', count: number | undefined, attributes: Attributes): void {
    if (count === undefined) return
    if (current) current[direction === 'input' ? 'operationInput' : 'operationOutput'].record(count, attributes)
    if (classic) classic.tokens.record(count, { ...attributes, 'gen_ai.token.type': direction })
  }
  const firstChunk = histogram(metric.firstChunk, 's', chunkSeconds)
  const outputChunk = histogram(metric.outputChunk, 's', chunkSeconds)
  const agentInferences = histogram(metric.agentInferences, '{call}', calls)
  const agentTools = histogram(metric.agentTools, '{call}', calls)
  const approval = histogram(metric.approval, 's', humanSeconds)
  const compaction = histogram(metric.compaction, 's', seconds)
  const removed = counter(metric.compactedTokens, '{token}')
  const counters = {
    turns: counter(metric.turns, '{turn}'),
    queued: counter(metric.queued, '{message}'),
    retries: counter(metric.retries, '{attempt}'),
    fallbacks: counter(metric.fallbacks, '{attempt}'),
    governance: counter(metric.governance, '{decision}'),
  }
  const models = new Map<string, ModelMeters>()
  const shares: Share[] = []
  // Summed here and observed at collection: a record of the SDK costs more than all additions to a sum.
  meter.addBatchObservableCallback((result) => {
    for (const { attributes, used } of shares) {
      for (const key of usedKeys) {
        const [much, total] = [used[key], sums[key]]
        if (much !== undefined && total) result.observe(total, much, attributes)
      }
    }
  }, Object.values(sums))

  function modelMeters(provider: string, model: string): ModelMeters {
    const given: Attributes = { [attr.operation]: 'chat', [attr.provider]: provider, [attr.requestModel]: model }
    const byError = new Map<string | undefined, Share>()
    function shareOf(error: string | undefined): Share {
      let share = byError.get(error)
      if (!share) {
        share = { attributes: error === undefined ? given : { ...given, [attr.errorType]: error }, used: {} }
        byError.set(error, share)
        shares.push(share)
      }
      return share
    }
    return {
      inference(outcome, duration, error) {
        const { attributes, used } = shareOf(error)
        lasted('inference', duration, attributes)
        if (!outcome) return
        const { usage, cost } = outcome
        add(used, 'cost', cost)
        // As in spans, metrics of the conventions count what providers reported.
        if (usage.estimated) return
        for (const key of usageKeys) add(used, key, usage[key])
        exchanged('input', usage.inputTokens, attributes)
        exchanged('output', usage.outputTokens, attributes)
      },
      firstChunk: (duration) => firstChunk.record(duration, given),
      outputChunk: (duration) => outputChunk.record(duration, given),
    }
  }

  return {
    model(provider, model) {
      const key = `${provider}/${model}`
      let known = models.get(key)
      if (!known) models.set(key, (known = modelMeters(provider, model)))
      return known
    },
    agent(duration, inferences, tools, attributes) {
      lasted('agent', duration, attributes)
      agentInferences.record(inferences, attributes)
      agentTools.record(tools, attributes)
    },
    tool(duration, operation, name, error) {
      const given = { [attr.operation]: operation, [attr.toolName]: name }
      lasted('tool', duration, error === undefined ? given : { ...given, [attr.errorType]: error })
    },
    workflow: (duration, attributes) => lasted('workflow', duration, attributes),
    approval: (duration, attributes) => approval.record(duration, attributes),
    compaction(duration, count, attributes) {
      compaction.record(duration, attributes)
      removed.add(Math.max(0, count), attributes)
    },
    count: (what, attributes) => counters[what].add(1, attributes),
  }
}

/** Names of operations in the classic metric of durations; attributes that state one take precedence. */
const classicOperations = {
  inference: 'chat',
  agent: 'invoke_agent',
  tool: 'execute_tool',
  workflow: 'invoke_workflow',
} as const

const usageKeys = ['inputTokens', 'outputTokens', 'cacheReadTokens', 'cacheWriteTokens', 'reasoningTokens'] as const
const usedKeys = [...usageKeys, 'cost'] as const

/** Usage of which at least one part is known. */
type Used = { [K in (typeof usedKeys)[number]]?: number }

/** Usage since process start of the calls with equal attributes. */
interface Share {
  readonly attributes: Attributes
  readonly used: Used
}

function add(used: Used, key: keyof Used, much: number | undefined): void {
  if (much !== undefined) used[key] = (used[key] ?? 0) + much
}
