import type { ModelMessage, ToolOutput } from '@provost/core'

import type { ToolDefinitions } from '../definition/guarded-tools.ts'
import type { Guard } from './guard.ts'
import type { GuardVerdict, OutsideCall } from './judge-call.ts'

/** A loop that reports what happens instead of showing its messages. */
export interface FollowedLoop {
  /** Adds messages: what the human wrote, or a history that a run begins with. */
  add(messages: readonly ModelMessage[]): void
  judge(call: OutsideCall, definitions?: ToolDefinitions): Promise<GuardVerdict>
  /** Judges a call again that a human has approved, with the same arguments. */
  approve(call: OutsideCall, by: string, definitions?: ToolDefinitions): Promise<GuardVerdict>
  /** Records what a call returned. */
  settle(callId: string, output: ToolOutput): void
  /** Returns the decision about a call of the present step. */
  verdictOn(callId: string): Promise<GuardVerdict> | undefined
}

interface StepCall {
  readonly call: OutsideCall
  verdict: Promise<GuardVerdict>
  output?: ToolOutput
}

/** Results of calls that are not known, such as those of a loop that was followed too late. */
const mostCalls = 1_000

/**
 * Follows a loop by its events. Calls that are reported before the first result of a step belong to that step; its messages
 * are complete when the next call is reported.
 */
export function followLoop(guard: Guard, session: string | undefined): FollowedLoop {
  const history: ModelMessage[] = []
  const step = new Map<string, StepCall>()
  let hasResults = false

  /** Adds the messages of the step, as a loop would have sent them to its model. */
  function endStep(): void {
    const calls = [...step.values()]
    step.clear()
    hasResults = false
    if (calls.length === 0) return
    history.push({
      role: 'assistant',
      content: calls.map(({ call: { id, name, input } }) => ({
        type: 'tool-call',
        toolCallId: id,
        toolName: name,
        input,
      })),
    })
    const results = calls.flatMap(({ call, output }) => (output ? [{ call, output }] : []))
    if (results.length > 0) history.push(resultMessage(results))
  }

  function ask(call: OutsideCall, definitions: ToolDefinitions | undefined, by?: string): Promise<GuardVerdict> {
    return guard.judge({
      ...{ call, history: [...history], session, approvedBy: by },
      ...(definitions && { definitions }),
    })
  }

  return {
    add(messages) {
      endStep()
      history.push(...messages)
    },
    judge(call, definitions) {
      if (hasResults || step.size >= mostCalls) endStep()
      const verdict = ask(call, definitions)
      step.set(call.id, { call, verdict })
      return verdict
    },
    approve(call, by, definitions) {
      const verdict = ask(call, definitions, by)
      step.set(call.id, { call, verdict })
      return verdict
    },
    settle(callId, output) {
      const known = step.get(callId)
      if (!known) return
      known.output = output
      hasResults = true
    },
    verdictOn: (callId) => step.get(callId)?.verdict,
  }
}

/** Returns results as a message. */
export function resultMessage(
  results: readonly { readonly call: Pick<OutsideCall, 'id' | 'name'>; readonly output: ToolOutput }[],
): ModelMessage {
  const content = results.map(({ call: { id, name }, output }) => ({
    type: 'tool-result',
    toolCallId: id,
    toolName: name,
    output,
  }))
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- JSON and texts only, as the AI SDK has them
  return { role: 'tool', content } as ModelMessage
}

/** Returns a text as the output of a tool: as JSON, if it is that. */
export function outputOfText(text: string): ToolOutput {
  if (text.length <= longestJson && /^\s*[[{]/.test(text)) {
    try {
      return { type: 'json', value: JSON.parse(text) }
    } catch {
      // A text that only begins like JSON.
    }
  }
  return { type: 'text', value: text }
}

const longestJson = 1_000_000
