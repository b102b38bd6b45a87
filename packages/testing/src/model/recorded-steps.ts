import type { Entry } from '@provost/core'

import type { ScriptedStep } from './scripted-step.ts'

/**
 * Returns the answers of the models of a recorded log as steps of a `scriptedModel`: today's agent gets the answers of that
 * day, and its tools run.
 *
 * @param entries of one log, from the first.
 * @param agent the name of an agent, where the session has several: only its answers. Default: all.
 *
 * @example
 * const model = scriptedModel(recordedSteps(entries))
 * await desk.run('Refund order 17.', { model })
 */
export function recordedSteps(entries: Iterable<Entry>, agent?: string): readonly ScriptedStep[] {
  const steps: ScriptedStep[] = []
  for (const entry of entries) {
    if (entry.type !== 'message' || entry.via !== 'model') continue
    if (agent !== undefined && entry.agent !== agent) continue
    const { content } = entry.message
    const texts = content.flatMap((part) => (part.type === 'text' ? [part.text] : []))
    const thoughts = content.flatMap((part) => (part.type === 'reasoning' ? [part.text] : []))
    const toolCalls = content.flatMap((part) =>
      part.type === 'tool-call' && part.providerExecuted !== true
        ? [{ name: part.toolName, input: part.input, id: part.toolCallId }]
        : [],
    )
    steps.push({
      ...(thoughts.length > 0 && { reasoning: thoughts.join('\n') }),
      ...(texts.length > 0 && { text: texts }),
      ...(toolCalls.length > 0 && { toolCalls }),
    })
  }
  return steps
}
