import type { EventPayloads, Message } from '@provost/core'
import { textOf } from '@provost/core'

import type { SessionState } from '../types/session-state.ts'
import { totalCost, usageReport } from './usage.ts'

/** Returns the payload of `agent.end` for a run, from its log. */
export function endPayload(state: SessionState): EventPayloads['agent.end'] {
  const { run } = state
  const since = state.messages.slice(run?.firstMessage ?? 0)
  const messages = state.hidden.size === 0 ? since : since.filter(({ id }) => !state.hidden.has(id))
  const cost = run && totalCost(run)
  return {
    status: run === undefined || run.status === 'running' ? 'failed' : run.status,
    ...(run?.output !== undefined && { output: run.output }),
    text: lastText(messages),
    messages,
    usage: run ? usageReport(run) : { byModel: {} },
    ...(cost !== undefined && { cost }),
    ...(run?.error && { error: run.error }),
  }
}

/** Returns the model of the last answer in a session as `provider/model`; undefined before the first answer. */
export function lastModel({ messages, modelNames }: SessionState): string | undefined {
  const answer = messages.findLast((message) => modelNames.has(message))
  return answer && modelNames.get(answer)
}

/** Returns the text of the last answer among messages, even if it is incomplete. */
export function lastText(messages: readonly Message[]): string {
  for (let i = messages.length - 1; i >= 0; i--) {
    const message = messages[i]
    if (message?.role === 'assistant' || message?.partial) return textOf(message)
  }
  return ''
}
