import { checkChoice, checkOptions, ProvostError } from '@provost/core'
import type { Grant, KnownKeys, MovedKeys } from '@provost/core'

import type { BudgetOptions } from './budget.ts'

const limitKeys = {
  tokens: true,
  toolCalls: true,
  cost: true,
  steps: true,
  durationMs: true,
} satisfies KnownKeys<Grant>

const movedLimits: MovedKeys = {
  maxTokens: 'Name it "tokens".',
  maxCost: 'Name it "cost"; it is in US dollars.',
  usd: 'Name it "cost"; it is in US dollars.',
  costUsd: 'Name it "cost"; it is in US dollars.',
  dollars: 'Name it "cost"; it is in US dollars.',
  maxSteps: 'Name it "steps".',
  maxToolCalls: 'Name it "toolCalls".',
  calls: 'Name it "toolCalls".',
  duration: 'Name it "durationMs"; it is in milliseconds.',
  time: 'Name it "durationMs"; it is in milliseconds.',
  timeoutMs: 'Name it "durationMs".',
  per: 'Give it as the second argument: budget({ … }, { per }).',
}

const optionKeys = { per: true } satisfies KnownKeys<BudgetOptions>

/**
 * Rejects a budget without a limit, or with an invalid or unknown one.
 *
 * @throws ProvostError `unknown-option`, `invalid-budget`, `invalid-option`
 */
export function checkBudget(limits: Grant, options: BudgetOptions): void {
  checkOptions(limits, limitKeys, 'budget', movedLimits)
  checkOptions(options, optionKeys, 'the options of budget')
  checkChoice(options.per, ['run', 'session'], 'per', 'budget')
  const given = Object.entries(limits ?? {}).filter(([, limit]) => limit !== undefined)
  for (const [name, limit] of given) {
    if (typeof limit === 'number' && limit >= 0) continue
    throw new ProvostError('invalid-budget', `The limit ${name} of a budget is ${String(limit)}.`, {
      hint: 'Give a number from 0, or omit it.',
    })
  }
  if (given.length > 0) return
  throw new ProvostError('invalid-budget', 'A budget has no limit, so it has no effect.', {
    hint: `Give at least one of ${Object.keys(limitKeys).join(', ')}.`,
  })
}
