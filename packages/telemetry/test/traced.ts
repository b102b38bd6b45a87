import { createAgent } from '@provost/agent'
import type { Agent, AgentOptions } from '@provost/agent'
import { scriptedModel } from '@provost/testing'
import type { ScriptedStep } from '@provost/testing'
import { tool } from '@provost/tools'
import { z } from 'zod'

import { collectSpans, printSpans, telemetry } from '../src/index.ts'
import type { CollectedSpan, SpanCollector, TelemetryOptions } from '../src/index.ts'

export const look = tool({
  name: 'look',
  effect: 'read',
  input: z.object({ at: z.string() }),
  execute: ({ at }) => `seen ${at}`,
})

export const lookStep: ScriptedStep = {
  toolCalls: [{ name: 'look', input: { at: 'the moon' } }],
  usage: { inputTokens: 10, outputTokens: 2 },
}
export const doneStep: ScriptedStep = { text: 'done', usage: { inputTokens: 15, outputTokens: 1 } }

export interface Traced extends SpanCollector {
  readonly agent: Agent
  /** The tree as lines, without values that differ between runs. */
  tree(): string[]
}

/** An agent whose spans are collected. */
export function traced(
  steps: readonly ScriptedStep[] = [lookStep, doneStep],
  more: Omit<Partial<AgentOptions>, 'output'> = {},
  options: TelemetryOptions = {},
): Traced {
  const collector = collectSpans()
  const { extensions = [], ...rest } = more
  const agent = createAgent({
    name: 'desk',
    model: scriptedModel(steps),
    tools: [look],
    ...rest,
    extensions: [telemetry({ tracer: collector.tracer, ...options }), ...extensions],
  })
  return { ...collector, agent, tree: () => treeOf(collector.take()) }
}

export function treeOf(spans: readonly CollectedSpan[]): string[] {
  return printSpans(spans, { times: false })
    .trimEnd()
    .split('\n')
    .map((line) => line.replaceAll(/[\da-f]{8}-[\da-f-]{27}/g, 'RUN'))
}

/** The attributes of the first span of a name. */
export function attributesOf(spans: readonly CollectedSpan[], name: string): Record<string, unknown> {
  return { ...spans.find((span) => span.name.startsWith(name))?.attributes }
}
