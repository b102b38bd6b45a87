import type { Orchestrator } from '@provost/agent'
import type { KnownKeys, Message } from '@provost/core'
import { ProvostError, checkOptions, trustedLabel } from '@provost/core'
import { estimateTokens } from '@provost/provider'

/** Options of {@link react}. */
export interface ReactOptions {
  /** The most tokens of a thought. The model is asked to keep to it; the length is estimated. Default 300. */
  readonly maxThoughtTokens?: number
}

const optionKeys = { maxThoughtTokens: true } satisfies KnownKeys<ReactOptions>

/**
 * Returns an orchestrator of thought, action and observation. Before each action the model writes what it knows, what
 * is missing and what to do next. It then makes one call, sees the result, and thinks again.
 * After Yao et al., "ReAct: Synergizing Reasoning and Acting in Language Models" (2022), for models that call tools.
 * Thought and action are one answer, its text or reasoning and its call, and streamed as any other.
 *
 * - Only the first of several calls in one answer runs. The results of the others ask the model to observe first.
 * - A call without a thought is rejected once; the next call runs.
 * - A thought over its limit is not cut, because that would also cut the action. The next request asks for brevity.
 * - An answer without a call ends the run.
 *
 * The instructions are in the tail of each request and never in the history.
 *
 * @throws ProvostError `invalid-agent` if `maxThoughtTokens` is not a number of at least 1.
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
    while (run.position !== 'finish') {
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
