import type { Entry, Extension, Fold, Grant, HookContext, Stop, UsageReport } from '@provost/core'
import { admit, assertNever, defineExtension, append, emptyList } from '@provost/core'

import { checkBudget } from './known-limits.ts'
import type { Logged, Tally } from './run-tally.ts'
import { add, runTallies, none, tallyOf, latestReports } from './run-tally.ts'

/** Options of {@link budget} besides its limits. */
export interface BudgetOptions {
  /** The scope of the limits. Default `run`. */
  readonly per?: 'run' | 'session'
}

const nothing: Logged = { ...none, children: emptyList, activeMs: 0 }

interface Account {
  readonly run: Logged
  readonly session: Logged
}

const accountFold: Fold<Account> = {
  key: 'governance/budget',
  initial: { run: nothing, session: nothing },
  apply(account, entry) {
    const begins = entry.type === 'run' && entry.op === 'started'
    return { run: countEntry(begins ? nothing : account.run, entry), session: countEntry(account.session, entry) }
  },
}

function countEntry(spent: Logged, entry: Entry): Logged {
  switch (entry.type) {
    case 'attempt': {
      // Negative usage from a provider does not refill the budget.
      const tokens = amount(entry.usage.inputTokens) + amount(entry.usage.outputTokens)
      return {
        ...spent,
        tokens: spent.tokens + tokens,
        cost: spent.cost + amount(entry.cost),
        unpriced: spent.unpriced || (entry.cost === undefined && tokens > 0),
        // A model call by a hook costs tokens, but is not a step.
        steps: spent.steps + (entry.outcome === 'answered' && entry.purpose === undefined ? 1 : 0),
      }
    }
    case 'message':
      return entry.via === 'model' ? foldChildReports(spent) : spent
    case 'call':
      return entry.op === 'decided' && entry.outcome === 'proceed'
        ? { ...spent, toolCalls: spent.toolCalls + 1 }
        : spent
    case 'child': {
      if (entry.op === 'spawned') return spent
      const { callId, usage, toolCalls, steps, status } = entry
      const came = { callId, ...paid(usage), toolCalls, steps, ended: status !== 'suspended' }
      return { ...spent, children: append(spent.children, came) }
    }
    case 'run': {
      if (entry.op === 'started' || entry.op === 'resumed') return { ...spent, since: entry.at }
      const { since, ...rest } = spent
      return { ...rest, activeMs: spent.activeMs + (since === undefined ? 0 : Math.max(0, entry.at - since)) }
    }
    case 'audit':
    case 'ext':
    case 'handoff':
    case 'memo':
    case 'resolved':
    case 'tail':
    case 'view':
    case 'wait':
      return spent
    default:
      return assertNever(entry)
  }
}

/** Adds the totals of children at the end of a step. A child never outlives the step that spawned it. */
function foldChildReports(spent: Logged): Logged {
  if (spent.children.length === 0) return spent
  return { ...spent, ...latestReports(spent.children).reduce(add, tallyOf(spent)), children: emptyList }
}

function paid({ inputTokens, outputTokens, byModel }: UsageReport): Pick<Tally, 'tokens' | 'cost' | 'unpriced'> {
  let [cost, unpriced] = [0, false]
  for (const share of Object.values(byModel)) {
    cost += amount(share.cost)
    unpriced ||= share.cost === undefined && amount(share.inputTokens) + amount(share.outputTokens) > 0
  }
  return { tokens: amount(inputTokens) + amount(outputTokens), cost, unpriced }
}

function amount(reported: number | undefined): number {
  return reported !== undefined && reported > 0 ? reported : 0
}

/**
 * Ends a run that has used up its budget. Tokens and cost include every attempt: discarded ones, and model calls of hooks
 * (`ctx.generate`). Duration is running time, without waits for approvals and results from outside. Children share the
 * budget of their parent. A run ends before a model call with the code `budget-exceeded`. Tool calls over the limit are
 * denied with the same code.
 *
 * Each model call reserves its input and its longest answer before it starts. A call that needs tokens reserved by others
 * waits for them. The limits of tool calls and steps are exact. Those of tokens and cost can be exceeded by the input of
 * one request and 16 tokens.
 *
 * @throws ProvostError `unknown-option`; `invalid-budget` for a limit that is not a number from 0, or without any limit.
 *
 * @example
 * createAgent({ name: 'clerk', model, tools, extensions: [budget({ tokens: 50_000, toolCalls: 20, durationMs: 60_000 })] })
 */
export function budget(limits: Grant, options: BudgetOptions = {}): Extension<unknown> {
  checkBudget(limits, options)
  const { per = 'run' } = options
  const runs = runTallies()
  return defineExtension({
    name: 'budget',
    scope: 'tree',
    asks: false,
    watches: () => ({ ops: ['run'], events: false }),
    hooks: {
      around(op, next, ctx) {
        return op.kind === 'run' ? runs.track(ctx, () => ctx.fold(accountFold)[per], next) : next()
      },
      'model.request'(request, ctx) {
        const { top, spent, total } = runs.totalsOf(ctx, ctx.fold(accountFold)[per])
        const over = usedUp(limits, spent, top, ctx, true)
        if (over !== undefined) return ends(ctx, over)
        // Reservations of other calls may be released: `model.call` waits for them.
        if (limits.tokens === undefined || total.tokens >= limits.tokens) return undefined
        const left = limits.tokens - total.tokens
        return { params: { maxOutputTokens: Math.min(left, request.params.maxOutputTokens ?? left) } }
      },
      'model.call'(call, ctx) {
        const { top, spent, total } = runs.totalsOf(ctx, ctx.fold(accountFold)[per])
        const isChild = ctx.run.parents.length > 0
        const left = leftOf(limits, total)
        const admission =
          total.unpriced && limits.cost !== undefined ? notAdmitted : admit(left, call, ctx.tree, isChild)
        if (admission.outcome === 'wait') return { wait: true }
        if (admission.outcome === 'over' || isOverTime(limits, top, ctx))
          return ends(ctx, usedUp(limits, spent, top, ctx, true) ?? unpriced)
        return admission
      },
      'tool.call'(call, ctx) {
        const { top, spent, total } = runs.totalsOf(ctx, ctx.fold(accountFold)[per])
        const over = usedUp(limits, spent, top, ctx, false)
        if (over !== undefined) return refuse(over)
        const { toolCalls } = limits
        if (toolCalls === undefined) return undefined
        // A reservation counts at once, also for calls of the same step and of siblings. A retried check already has one.
        if (total.toolCalls - ctx.reserved(call.callId).toolCalls + 1 > toolCalls)
          return refuse(`The budget of ${toolCalls} tool calls is used up.`)
        ctx.reserve(call.callId, { toolCalls: 1 })
        return undefined
      },
    },
  })
}

const exceeded = 'budget-exceeded'

const notAdmitted = { outcome: 'over' } as const
const unpriced = 'The budget is in US dollars, and the price of a model is unknown.'

function refuse(why: string): { readonly deny: string; readonly code: string } {
  return { deny: `${why} Answer with the results so far.`, code: exceeded }
}

/** Returns the remaining budget. */
function leftOf({ tokens, cost, steps }: Grant, spent: Tally): Grant {
  return {
    ...(tokens !== undefined && { tokens: tokens - spent.tokens }),
    ...(cost !== undefined && { cost: cost - spent.cost }),
    ...(steps !== undefined && { steps: steps - spent.steps }),
  }
}

function ends(ctx: HookContext, over: string): Stop {
  return ctx.stop(exceeded, over, 'Raise the limit in budget({ … }), then resume the run.')
}

/** Returns a message about the first limit that is used up. */
function usedUp(
  { tokens, cost, steps, durationMs }: Grant,
  spent: Tally,
  top: Logged,
  ctx: HookContext,
  beforeModel: boolean,
): string | undefined {
  // A step may use exactly its limit: its own tool calls still run.
  const reached = (used: number, limit: number): boolean => (beforeModel ? used >= limit : used > limit)
  if (tokens !== undefined && reached(spent.tokens, tokens)) return `The budget of ${tokens} tokens is used up.`
  if (cost !== undefined && reached(spent.cost, cost)) return `The budget of ${cost} US dollars is used up.`
  if (cost !== undefined && spent.unpriced) return unpriced
  if (steps !== undefined && beforeModel && spent.steps >= steps) return `The budget of ${steps} steps is used up.`
  if (isOverTime({ durationMs }, top, ctx)) return `The budget of ${durationMs} ms is used up.`
  return undefined
}

function isOverTime(
  { durationMs }: { durationMs?: number | undefined },
  { activeMs, since }: Logged,
  ctx: HookContext,
): boolean {
  const active = activeMs + (since === undefined ? 0 : Math.max(0, ctx.now() - since))
  return durationMs !== undefined && active >= durationMs
}
