import type { Attributes, Meter } from '@opentelemetry/api'
import type { ModelOutcome } from '@provost/core'

import { metric } from './semconv.ts'

/** The instruments of an extension, made once a meter is there. */
export interface Meters {
  /** A model call: `seconds` it took. */
  inference(outcome: ModelOutcome | undefined, seconds: number, attributes: Attributes): void
  firstChunk(seconds: number, attributes: Attributes): void
  outputChunk(seconds: number, attributes: Attributes): void
  agent(seconds: number, inferences: number, tools: number, attributes: Attributes): void
  tool(seconds: number, attributes: Attributes): void
  workflow(seconds: number, attributes: Attributes): void
  approval(seconds: number, attributes: Attributes): void
  compaction(seconds: number, tokens: number, attributes: Attributes): void
  count(what: 'turns' | 'queued' | 'retries' | 'fallbacks' | 'governance', attributes: Attributes): void
}

/** Bounds that the conventions advise for durations, and for tokens. */
const seconds = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92]
const tokens = [1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864]
const chunkSeconds = [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4]
/** Humans take longer than machines. */
const humanSeconds = [1, 5, 15, 60, 300, 900, 3600, 14400, 43200, 86400, 259200, 604800]
const calls = [0, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89]

export function createMeters(meter: Meter): Meters {
  const counter = (name: string, unit: string): ReturnType<Meter['createCounter']> =>
    meter.createCounter(name, { unit })
  const histogram = (name: string, unit: string, bounds: number[]): ReturnType<Meter['createHistogram']> =>
    meter.createHistogram(name, { unit, advice: { explicitBucketBoundaries: bounds } })
  const used = {
    inputTokens: counter(metric.inputTokens, '{token}'),
    outputTokens: counter(metric.outputTokens, '{token}'),
    cacheReadTokens: counter(metric.cacheRead, '{token}'),
    cacheWriteTokens: counter(metric.cacheWrite, '{token}'),
    reasoningTokens: counter(metric.reasoning, '{token}'),
  }
  const cost = counter(metric.cost, 'USD')
  const operationInput = histogram(metric.operationInput, '{token}', tokens)
  const operationOutput = histogram(metric.operationOutput, '{token}', tokens)
  const inference = histogram(metric.inference, 's', seconds)
  const firstChunk = histogram(metric.firstChunk, 's', chunkSeconds)
  const outputChunk = histogram(metric.outputChunk, 's', chunkSeconds)
  const agent = histogram(metric.agent, 's', seconds)
  const agentInferences = histogram(metric.agentInferences, '{call}', calls)
  const agentTools = histogram(metric.agentTools, '{call}', calls)
  const tool = histogram(metric.tool, 's', seconds)
  const workflow = histogram(metric.workflow, 's', seconds)
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
  return {
    inference(outcome, duration, attributes) {
      inference.record(duration, attributes)
      if (!outcome) return
      const { usage } = outcome
      for (const key of usageKeys) {
        const count = usage[key]
        if (count !== undefined) used[key].add(count, attributes)
      }
      if (usage.inputTokens !== undefined) operationInput.record(usage.inputTokens, attributes)
      if (usage.outputTokens !== undefined) operationOutput.record(usage.outputTokens, attributes)
      if (outcome.cost !== undefined) cost.add(outcome.cost, attributes)
    },
    firstChunk: (duration, attributes) => firstChunk.record(duration, attributes),
    outputChunk: (duration, attributes) => outputChunk.record(duration, attributes),
    agent(duration, inferences, tools, attributes) {
      agent.record(duration, attributes)
      agentInferences.record(inferences, attributes)
      agentTools.record(tools, attributes)
    },
    tool: (duration, attributes) => tool.record(duration, attributes),
    workflow: (duration, attributes) => workflow.record(duration, attributes),
    approval: (duration, attributes) => approval.record(duration, attributes),
    compaction(duration, count, attributes) {
      compaction.record(duration, attributes)
      removed.add(Math.max(0, count), attributes)
    },
    count: (what, attributes) => counters[what].add(1, attributes),
  }
}

const usageKeys = ['inputTokens', 'outputTokens', 'cacheReadTokens', 'cacheWriteTokens', 'reasoningTokens'] as const
