import type { KnownKeys, Message } from '@provost/core'
import { ProvostError, checkOptions, trustedLabel } from '@provost/core'
import { estimateTokens } from '@provost/provider'

import type { Orchestrator } from '../types/orchestrator.ts'

/** How a run thinks between its actions. */
export interface ReactOptions {
  /** Tokens a thought may take, as asked of the model and estimated afterwards. Default 300. */
  readonly maxThoughtTokens?: number
}

const optionKeys = { maxThoughtTokens: true } satisfies KnownKeys<ReactOptions>

/**
 * Thought, action, observation: before each action the model writes down what it knows, what is missing and what to do
 * next; then it makes one call, sees the result, and thinks again. The algorithm is that of Yao et al., "ReAct:
 * Synergizing Reasoning and Acting in Language Models" (2022), on models that call tools: thought and action are one
 * answer, its text or reasoning and its call, and streamed as any other.
 *
 * - Of several calls in one answer the first runs. The others are skipped, and the model is told to look first.
 * - A call without a thought is sent back once; what comes then is run.
 * - A thought over its tokens is not cut, which would cut the action behind it: the model is told before the next step.
 * - An answer without a call is the run's answer.
 *
 * What the model is told stands in the tail of each request and never in the history.
 *
 * @throws ProvostError `invalid-agent` for a limit that is no number from 1.
 *
 * @example
 * createAgent({ name: 'scout', model, tools: [search, read], orchestrator: react({ maxThoughtTokens: 200 }) })
 */
export function react(options: ReactOptions = {}): Orchestrator {
  checkOptions(options, optionKeys, 'react')
  const { maxThoughtTokens = 300 } = options
  if (!(maxThoughtTokens >= 1)) {
    throw new ProvostError('invalid-agent', `react() has maxThoughtTokens: ${maxThoughtTokens}.`, {
      hint: 'Give a number from 1.',
    })
  }
  const rules = [
    'Work in turns of thought, action and observation.',
    `First write your thought: what you know, what is missing, what to do next, in at most ${maxThoughtTokens} tokens.`,
    'Then make one tool call; its result is your observation.',
    'When nothing is missing, answer without a call.',
  ].join(' ')

  return async (run) => {
    let remark = ''
    let sentBack = false
    while (run.position !== 'end') {
      const said = await run.model({ tail: [{ content: rules + remark, label: trustedLabel }] })
      const [action] = run.calls
      if (!action) continue
      const tokens = estimateTokens(thoughtOf(said))
      if (tokens === 0 && !sentBack) {
        sentBack = true
        await run.execute({ only: [], reason: 'Not run: write your thought first, then call again.' })
        continue
      }
      sentBack = false
      remark = tokens > maxThoughtTokens ? ` Your last thought took about ${tokens} tokens: be brief.` : ''
      await run.execute({
        only: [action.callId],
        reason: 'Not run: one action at a time. Look at the observation, think, then call again.',
      })
    }
  }
}

function thoughtOf({ content }: Message): string {
  let thought = ''
  for (const part of content) if (part.type === 'text' || part.type === 'reasoning') thought += part.text
  return thought.trim()
}
