import type { HookContext } from '@provost/core'

/** What is counted of a run, with all below it. */
export interface Tally {
  readonly tokens: number
  /** US dollars. */
  readonly cost: number
  /** A model was paid for whose price nobody knows. */
  readonly unpriced: boolean
  readonly toolCalls: number
  readonly steps: number
}

/** What the log of a run says of it and its children. */
export interface Logged extends Tally {
  /** Children of the present step, as far as they have come by what the log says. */
  readonly children: Readonly<Record<string, Tally & { readonly ended: boolean }>>
  /** Milliseconds that were not spent waiting for somebody. */
  readonly activeMs: number
  /** When the clock was started; undefined while nothing runs. */
  readonly since?: number
}

/** The runs of this process that share one budget: what a child spends counts before its parent's log tells of it. */
export interface LiveRuns {
  /** Counts a run while `work` goes on. */
  during<T>(ctx: HookContext, logged: () => Logged, work: () => Promise<T>): Promise<T>
  /** The outermost of the runs that share the budget of this one, and what all below it have spent. */
  of(ctx: HookContext, own: Logged): { readonly top: Logged; readonly total: Tally }
}

interface LiveRun {
  logged: () => Logged
  live: boolean
  /** Of those below it, with the step in which they were seen first. */
  readonly children: Map<string, number>
  readonly step: () => number
}

/** Makes the list of the runs that share a budget. */
export function liveRuns(): LiveRuns {
  const runs = new Map<string, LiveRun>()

  function forget(id: string): void {
    for (const child of runs.get(id)?.children.keys() ?? []) forget(child)
    runs.delete(id)
  }

  function total(id: string): Tally {
    const run = runs.get(id)
    if (!run) return none
    const own = run.logged()
    let sum = tallyOf(own)
    for (const [child, step] of run.children) {
      // Once its parent's log has counted it, here it is no more.
      if (own.children[child]?.ended === true || (runs.get(child)?.live !== true && step < run.step())) {
        run.children.delete(child)
        forget(child)
      } else sum = add(sum, total(child))
    }
    for (const [child, told] of Object.entries(own.children)) if (!run.children.has(child)) sum = add(sum, told)
    return sum
  }

  return {
    of({ run }, own) {
      const top = runs.has(run.id) ? (run.parents.findLast((id) => runs.has(id)) ?? run.id) : undefined
      const logged = top === undefined ? undefined : runs.get(top)?.logged()
      if (top !== undefined && logged) return { top: logged, total: total(top) }
      return { top: own, total: Object.values(own.children).reduce(add, tallyOf(own)) }
    },
    async during({ run }, logged, work) {
      const above = runs.get(run.parents[0] ?? '')
      const known = runs.get(run.id)
      const children = known?.children ?? new Map<string, number>()
      const own: LiveRun = { logged, live: true, children, step: () => run.step }
      runs.set(run.id, own)
      above?.children.set(run.id, above.step())
      try {
        return await work()
      } finally {
        own.live = false
        if (above && runs.get(run.parents[0] ?? '') === above) {
          // What it has come to stays until its parent's log tells of it; the run itself does not.
          const spent = total(run.id)
          own.logged = () => ({ ...spent, children: {}, activeMs: 0 })
          for (const child of children.keys()) forget(child)
          children.clear()
        } else forget(run.id)
      }
    },
  }
}

/** Nothing spent. */
export const none: Tally = { tokens: 0, cost: 0, unpriced: false, toolCalls: 0, steps: 0 }

/** The tally of what has more to it. */
export function tallyOf({ tokens, cost, unpriced, toolCalls, steps }: Tally): Tally {
  return { tokens, cost, unpriced, toolCalls, steps }
}

/** The sum of two. */
export function add(a: Tally, b: Tally): Tally {
  return {
    tokens: a.tokens + b.tokens,
    cost: a.cost + b.cost,
    unpriced: a.unpriced || b.unpriced,
    toolCalls: a.toolCalls + b.toolCalls,
    steps: a.steps + b.steps,
  }
}
