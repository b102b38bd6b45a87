import type { Entry, Extension, Fold, Grant, Growing, HookContext, Stop, UsageReport } from '@provost/core'
import { defineExtension, grow, nothingYet, placeIn } from '@provost/core'

import { checkBudget } from './known-limits.ts'
import type { Logged, Tally } from './live-runs.ts'
import { add, liveRuns, none, tallyOf, toldBy } from './live-runs.ts'

/** What {@link budget} takes beyond its limits. */
export interface BudgetOptions {
  /** Whose spending counts together. Default `run`. */
  readonly per?: 'run' | 'session'
}

/** What the log says of a run; what its children have come to is kept apart until the step is over. */
interface Spent extends Logged {
  /** Calls of the present step, in their order, and how many calls went before. */
  readonly calls: Growing<string>
  readonly callsBefore: number
}

const nothing: Spent = { ...none, children: nothingYet, activeMs: 0, calls: nothingYet, callsBefore: 0 }

interface Account {
  readonly run: Spent
  readonly session: Spent
}

const accountFold: Fold<Account> = {
  key: 'governance/budget',
  initial: { run: nothing, session: nothing },
  apply(account, entry) {
    const begins = entry.type === 'run' && entry.op === 'started'
    return { run: spend(begins ? nothing : account.run, entry), session: spend(account.session, entry) }
  },
}

function spend(spent: Spent, entry: Entry): Spent {
  switch (entry.type) {
    case 'attempt': {
      // A provider that reports nonsense does not fill the purse again.
      const tokens = amount(entry.usage.inputTokens) + amount(entry.usage.outputTokens)
      return {
        ...spent,
        tokens: spent.tokens + tokens,
        cost: spent.cost + amount(entry.cost),
        unpriced: spent.unpriced || (entry.cost === undefined && tokens > 0),
        // A call that a hook made is paid for; it is no step.
        steps: spent.steps + (entry.outcome === 'answered' && entry.purpose === undefined ? 1 : 0),
      }
    }
    case 'message': {
      if (entry.via !== 'model') return spent
      let calls: Growing<string> = nothingYet
      for (const part of entry.message.content) if (part.type === 'tool-call') calls = grow(calls, part.callId)
      const settled = settle(spent)
      return { ...settled, calls, callsBefore: settled.toolCalls }
    }
    case 'call':
      // What composites call counts as well, in the order of their calls.
      if (entry.op === 'planned') return { ...spent, calls: grow(spent.calls, entry.callId) }
      return entry.op === 'decided' && entry.outcome === 'proceed'
        ? { ...spent, toolCalls: spent.toolCalls + 1 }
        : spent
    case 'child': {
      if (entry.op === 'spawned') return spent
      const { callId, usage, toolCalls, steps, status } = entry
      const came = { callId, ...paid(usage), toolCalls, steps, ended: status !== 'suspended' }
      return { ...spent, children: grow(spent.children, came) }
    }
    case 'run': {
      if (entry.op === 'started' || entry.op === 'resumed') return { ...spent, since: entry.at }
      const { since, ...rest } = spent
      return { ...rest, activeMs: spent.activeMs + (since === undefined ? 0 : Math.max(0, entry.at - since)) }
    }
    default:
      return spent
  }
}

/** No child outlives the step that it was spawned in. */
function settle(spent: Spent): Spent {
  if (spent.children.length === 0) return spent
  return { ...spent, ...toldBy(spent.children).reduce(add, tallyOf(spent)), children: nothingYet }
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
 * Ends a run that has spent what it may. Tokens and cost count what every attempt used, discarded ones and the calls of
 * hooks (`ctx.generate`) included; duration counts the time in which nobody was waited for. Before each model call
 * the run ends with the code `budget-exceeded` if something is used up, and the answer may be no longer than the tokens
 * that are left; tool calls over the limit are denied with the same code. A call under way is not cut short.
 * Children count: with their parent they have one budget, whoever of them spends it. Where several are at work at the
 * same time, each may have begun one call more when it is used up.
 *
 * @throws ProvostError `unknown-option`; `invalid-budget` for a limit that is not a number from 0, and for no limit at all.
 *
 * @example
 * createAgent({ name: 'clerk', model, tools, extensions: [budget({ tokens: 50_000, toolCalls: 20, durationMs: 60_000 })] })
 */
export function budget(limits: Grant, options: BudgetOptions = {}): Extension<unknown> {
  checkBudget(limits, options)
  const { per = 'run' } = options
  const runs = liveRuns()
  return defineExtension({
    name: 'budget',
    scope: 'tree',
    asks: false,
    watches: () => ({ ops: ['run'], events: false }),
    hooks: {
      around(op, next, ctx) {
        return op.kind === 'run' ? runs.during(ctx, () => ctx.fold(accountFold)[per], next) : next()
      },
      'model.request'(request, ctx) {
        const { top, total } = runs.of(ctx, ctx.fold(accountFold)[per])
        const over = usedUp(limits, total, top, ctx, true)
        if (over !== undefined) return ends(ctx, over)
        if (limits.tokens === undefined) return undefined
        const left = limits.tokens - total.tokens
        return { params: { maxOutputTokens: Math.min(left, request.params.maxOutputTokens ?? left) } }
      },
      'tool.call'(call, ctx) {
        const own = ctx.fold(accountFold)[per]
        const { top, total } = runs.of(ctx, own)
        const over =
          usedUp(limits, total, top, ctx, false) ??
          tooManyCalls(limits, own, total.toolCalls - own.toolCalls, call.callId)
        return over === undefined ? undefined : { deny: `${over} Answer with what there is.`, code: exceeded }
      },
    },
  })
}

const exceeded = 'budget-exceeded'

function ends(ctx: HookContext, over: string): Stop {
  return ctx.stop(exceeded, over)
}

/** What is used up, in words. */
function usedUp(
  { tokens, cost, steps, durationMs }: Grant,
  spent: Tally,
  { activeMs, since }: Logged,
  ctx: HookContext,
  beforeModel: boolean,
): string | undefined {
  const active = activeMs + (since === undefined ? 0 : Math.max(0, ctx.now() - since))
  // What a step has spent may be the whole of it: its own calls still run.
  const reached = (used: number, limit: number): boolean => (beforeModel ? used >= limit : used > limit)
  if (tokens !== undefined && reached(spent.tokens, tokens)) return `The budget of ${tokens} tokens is used up.`
  if (cost !== undefined && reached(spent.cost, cost)) return `The budget of ${cost} US dollars is used up.`
  if (cost !== undefined && spent.unpriced) return 'The budget is in US dollars, and the price of a model is not known.'
  if (steps !== undefined && beforeModel && spent.steps >= steps) return `The budget of ${steps} steps is used up.`
  if (durationMs !== undefined && active >= durationMs) return `The budget of ${durationMs} ms is used up.`
  return undefined
}

/** Calls of one step are judged before any of them counts: each is counted at its place. */
function tooManyCalls(
  { toolCalls }: Grant,
  { calls, callsBefore }: Spent,
  elsewhere: number,
  callId: string,
): string | undefined {
  if (toolCalls === undefined) return undefined
  return elsewhere + callsBefore + (placeIn(calls, callId) ?? calls.length) + 1 > toolCalls
    ? `The budget of ${toolCalls} tool calls is used up.`
    : undefined
}
