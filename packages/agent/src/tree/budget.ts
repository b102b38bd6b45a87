import type { EntryOf, Grant, KnownKeys, UsageReport } from '@provost/core'
import { ProvostError, addUsage, checkOptions } from '@provost/core'

import { costOfUsage, totalCost, usageReport } from '../state/usage.ts'
import type { ActiveChild, BudgetUsage } from '../types/run-tree.ts'
import type { RunProgress } from '../types/session-state.ts'

/** Returns the usage of a run: from its log, plus what its active children have used or reserved since. */
export function usageOfBudget(
  run: RunProgress | undefined,
  children: ReadonlyMap<string, ActiveChild> = new Map(),
): BudgetUsage {
  const { inputTokens = 0, outputTokens = 0 } = run ? addUsage({}, usageReport(run)) : {}
  let spent: BudgetUsage = {
    tokens: inputTokens + outputTokens,
    cost: !run || (run.byModel.size === 0 && run.children.size === 0) ? 0 : (totalCost(run) ?? undefined),
    toolCalls: run?.toolCallCount ?? 0,
    steps: run?.answerCount ?? 0,
  }
  if (spent.cost === undefined && spent.tokens === 0) spent = { ...spent, cost: 0 }
  for (const [id, child] of children) spent = addSpent(spent, beyond(child.spent(), run?.children.get(id)?.usage))
  return spent
}

/** Returns the sum of two usages. */
export function addSpent(a: BudgetUsage, b: BudgetUsage): BudgetUsage {
  return {
    tokens: a.tokens + b.tokens,
    cost: a.cost === undefined || b.cost === undefined ? undefined : a.cost + b.cost,
    toolCalls: a.toolCalls + b.toolCalls,
    steps: a.steps + b.steps,
  }
}

/** Returns the usage of a completed child. */
export function spentIn({
  usage,
  toolCalls,
  steps,
}: Pick<EntryOf<'child', 'joined'>, 'usage' | 'toolCalls' | 'steps'>): BudgetUsage {
  const { inputTokens = 0, outputTokens = 0 } = usage
  return { tokens: inputTokens + outputTokens, cost: costOfUsage(usage), toolCalls, steps }
}

/** Returns what an active child has used since its parent's log recorded its usage. */
function beyond(spent: BudgetUsage, recorded: UsageReport | undefined): BudgetUsage {
  if (!recorded) return spent
  const { inputTokens = 0, outputTokens = 0, byModel } = recorded
  const paid = Object.values(byModel).reduce((sum, { cost = 0 }) => sum + cost, 0)
  return {
    ...spent,
    tokens: Math.max(0, spent.tokens - inputTokens - outputTokens),
    cost: spent.cost === undefined ? undefined : Math.max(0, spent.cost - paid),
  }
}

/** Returns what remains of a grant. An unknown cost uses up a grant in money. */
export function remaining(grant: Grant, spent: BudgetUsage): Grant {
  const { tokens, cost, toolCalls, steps, durationMs } = grant
  return {
    ...(tokens !== undefined && { tokens: tokens - spent.tokens }),
    ...(cost !== undefined && { cost: spent.cost === undefined ? 0 : cost - spent.cost }),
    ...(toolCalls !== undefined && { toolCalls: toolCalls - spent.toolCalls }),
    ...(steps !== undefined && { steps: steps - spent.steps }),
    ...(durationMs !== undefined && { durationMs }),
  }
}

/** Returns the minimum of two grants, in each of their dimensions. */
export function minGrant(a: Grant | undefined, b: Grant | undefined): Grant | undefined {
  if (!a || !b) return a ?? b
  const least: { -readonly [K in keyof Grant]: Grant[K] } = { ...a }
  for (const name of dimensions) {
    const [one, other] = [a[name], b[name]]
    if (other !== undefined) least[name] = one === undefined ? other : Math.min(one, other)
  }
  return least
}

/**
 * Returns what remains after the grants of incomplete children: those active here, and those in the log that another
 * process may have started.
 *
 * @param except the child that this is for.
 */
export function available(
  left: Grant | undefined,
  children: ReadonlyMap<string, ActiveChild>,
  run: RunProgress | undefined,
  except?: string,
): Grant | undefined {
  if (!left) return undefined
  const free: { -readonly [K in keyof Grant]: Grant[K] } = { ...left }
  const setAside = (reserved: Grant): void => {
    for (const name of countable) {
      const [has, set] = [free[name], reserved[name]]
      if (has !== undefined && set !== undefined) free[name] = Math.max(0, has - Math.max(0, set))
    }
  }
  for (const [id, { grant, spent }] of children) if (grant && id !== except) setAside(remaining(grant, spent()))
  for (const [id, { grant, completion, usage }] of run?.children ?? []) {
    if (!grant || completion || id === except || children.has(id)) continue
    const { inputTokens = 0, outputTokens = 0 } = usage ?? {}
    setAside(remaining(grant, { tokens: inputTokens + outputTokens, cost: 0, toolCalls: 0, steps: 0 }))
  }
  return free
}

const countable = ['tokens', 'cost', 'toolCalls', 'steps'] as const
const dimensions = [...countable, 'durationMs'] as const

const grantKeys = {
  tokens: true,
  toolCalls: true,
  cost: true,
  steps: true,
  durationMs: true,
} satisfies KnownKeys<Grant>

/**
 * Validates a grant and returns it.
 *
 * @throws ProvostError `unknown-option`, `invalid-budget` for a limit that is not a number from 0.
 */
export function checkGrant(grant: Grant): Grant {
  checkOptions(grant, grantKeys, 'a grant')
  for (const [name, limit] of Object.entries(grant)) {
    if (limit === undefined || (typeof limit === 'number' && limit >= 0)) continue
    throw new ProvostError('invalid-budget', `The limit ${name} of a grant is ${String(limit)}.`, {
      hint: 'Pass a number of at least 0, or omit the limit.',
    })
  }
  return grant
}
