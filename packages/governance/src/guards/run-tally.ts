import type { AppendOnlyList, HookContext, Spending } from '@provost/core'
import { emptyList } from '@provost/core'

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
  /** What the log tells of the children of the present step: of one that was suspended more than once, the last counts. */
  readonly children: AppendOnlyList<Told>
  /** Milliseconds that were not spent waiting for somebody. */
  readonly activeMs: number
  /** When the clock was started; undefined while nothing runs. */
  readonly since?: number
}

/** What a log tells of a child: how far it has come when it was suspended, or what it has come to. */
export interface Told extends Tally {
  readonly callId: string
  readonly ended: boolean
}

/** The runs of this process that share one budget: what a child spends counts before its parent's log tells of it. */
export interface LiveRuns {
  /** Counts a run while `work` goes on. */
  during<T>(ctx: HookContext, logged: () => Logged, work: () => Promise<T>): Promise<T>
  /** The outermost of the runs that share the budget of this one, what all below it have spent, and the same with what they have set aside. */
  of(ctx: HookContext, own: Logged): { readonly top: Logged; readonly spent: Tally; readonly total: Tally }
}

interface LiveRun {
  readonly logged: () => Logged
  /** What its calls under way have set aside. */
  readonly reserved: () => Spending
  readonly live: boolean
  /** Of those below it, with the step in which they were seen first. */
  readonly children: Map<string, number>
  readonly step: () => number
  /** What was read of what its log tells of its children. */
  read: { readonly items: readonly Told[]; length: number; ended: Tally; readonly paused: Map<string, Tally> }
}

/** Makes the list of the runs that share a budget. */
export function runTallies(): LiveRuns {
  const runs = new Map<string, LiveRun>()

  function forget(id: string): void {
    for (const child of runs.get(id)?.children.keys() ?? []) forget(child)
    runs.delete(id)
  }

  /** Reads on where it was left: a step with many children costs each of them once. */
  function readOn(run: LiveRun, { items, length }: AppendOnlyList<Told>): LiveRun['read'] {
    if (run.read.items !== items) run.read = { items, length: 0, ended: none, paused: new Map() }
    const { read } = run
    for (; read.length < length; read.length++) {
      const told = items[read.length]
      if (!told) continue
      read.paused.delete(told.callId)
      if (!told.ended) read.paused.set(told.callId, told)
      else {
        read.ended = add(read.ended, told)
        // Once its parent's log has counted it, here it is no more.
        if (run.children.delete(told.callId)) forget(told.callId)
      }
    }
    return read
  }

  function total(id: string): Tally {
    const run = runs.get(id)
    if (!run) return none
    const own = run.logged()
    const { ended, paused } = readOn(run, own.children)
    let sum = add(tallyOf(own), ended)
    for (const [child, step] of run.children) {
      if (runs.get(child)?.live !== true && step < run.step()) {
        run.children.delete(child)
        forget(child)
      } else sum = add(sum, total(child))
    }
    for (const [child, told] of paused) if (!run.children.has(child)) sum = add(sum, told)
    return sum
  }

  function reservedBelow(id: string): Tally {
    const run = runs.get(id)
    if (!run?.live) return none
    let sum = reservedTally(run.reserved())
    for (const child of run.children.keys()) sum = add(sum, reservedBelow(child))
    return sum
  }

  return {
    of(ctx, own) {
      const { run } = ctx
      const top = runs.has(run.id) ? (run.parents.findLast((id) => runs.has(id)) ?? run.id) : undefined
      const logged = top === undefined ? undefined : runs.get(top)?.logged()
      if (top === undefined || !logged) {
        const spent = toldBy(own.children).reduce(add, tallyOf(own))
        return { top: own, spent, total: add(spent, reservedTally(ctx.reserved())) }
      }
      const spent = total(top)
      return { top: logged, spent, total: add(spent, reservedBelow(top)) }
    },
    async during(ctx, logged, work) {
      const { run } = ctx
      const above = runs.get(run.parents[0] ?? '')
      const known = runs.get(run.id)
      const children = known?.children ?? new Map<string, number>()
      runs.set(run.id, {
        logged,
        reserved: () => ctx.reserved(),
        live: true,
        children,
        step: () => run.step,
        read: unread,
      })
      above?.children.set(run.id, above.step())
      try {
        return await work()
      } finally {
        if (above && runs.get(run.parents[0] ?? '') === above) {
          const left = over(total(run.id), run.step)
          forget(run.id)
          // What it has come to stays until its parent's log tells of it; the run itself does not.
          runs.set(run.id, left)
        } else forget(run.id)
      }
    },
  }
}

/** What is left of a run that is over. */
function over(spent: Tally, step: number): LiveRun {
  const logged: Logged = { ...spent, children: emptyList, activeMs: 0 }
  return {
    logged: () => logged,
    reserved: () => nothingReserved,
    live: false,
    children: new Map(),
    step: () => step,
    read: unread,
  }
}

const nothingReserved: Spending = { tokens: 0, cost: 0, toolCalls: 0, steps: 0 }

function reservedTally({ tokens, cost, toolCalls, steps }: Spending): Tally {
  return { tokens, cost, toolCalls, steps, unpriced: false }
}

/** Nothing spent. */
export const none: Tally = { tokens: 0, cost: 0, unpriced: false, toolCalls: 0, steps: 0 }

/** Of no log: whoever reads it begins anew. */
const unread: LiveRun['read'] = { items: [], length: 0, ended: none, paused: new Map() }

/** Of each child the last that was told. */
export function toldBy({ items, length }: AppendOnlyList<Told>): readonly Tally[] {
  return [...new Map(items.slice(0, length).map((told) => [told.callId, told])).values()]
}

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
