import type { AppendOnlyList, HookContext, Spending } from '@provost/core'
import { emptyList } from '@provost/core'

/** The totals of a run, including its descendants. */
export interface Tally {
  readonly tokens: number
  /** US dollars. */
  readonly cost: number
  /** The run used a model without a known price. */
  readonly unpriced: boolean
  readonly toolCalls: number
  readonly steps: number
}

/** The totals that the log of a run records for it and its children. */
export interface Logged extends Tally {
  /** Reports of the children of the present step. The last report of a child applies. */
  readonly children: AppendOnlyList<ChildReport>
  /** Milliseconds of running time, without waits for approvals and results from outside. */
  readonly activeMs: number
  /** When the run last started or resumed; undefined while it does not run. */
  readonly since?: number
}

/** The totals of a child in its parent's log, when it was suspended or ended. */
export interface ChildReport extends Tally {
  readonly callId: string
  readonly ended: boolean
}

/** The runs of this process that share one budget. A child's spending counts before its parent's log records it. */
export interface LiveRuns {
  /** Counts a run during `work`. */
  track<T>(ctx: HookContext, logged: () => Logged, work: () => Promise<T>): Promise<T>
  /** Returns the outermost run of this budget (`top`), its spending (`spent`), and its spending with reservations (`total`). */
  totalsOf(ctx: HookContext, own: Logged): { readonly top: Logged; readonly spent: Tally; readonly total: Tally }
}

interface LiveRun {
  readonly logged: () => Logged
  /** Reservations of its calls in progress. */
  readonly reserved: () => Spending
  readonly live: boolean
  /** Ids of its children, each with the step that first had it. */
  readonly children: Map<string, number>
  readonly step: () => number
  /** The position in its log's reports of children, and their sums so far. */
  read: { readonly items: readonly ChildReport[]; length: number; ended: Tally; readonly paused: Map<string, Tally> }
}

/** Creates the list of runs that share a budget. */
export function runTallies(): LiveRuns {
  const runs = new Map<string, LiveRun>()

  function forget(id: string): void {
    for (const child of runs.get(id)?.children.keys() ?? []) forget(child)
    runs.delete(id)
  }

  /** Reads the new reports only: a step with many children reads each of them once. */
  function readNewReports(run: LiveRun, { items, length }: AppendOnlyList<ChildReport>): LiveRun['read'] {
    if (run.read.items !== items) run.read = { items, length: 0, ended: none, paused: new Map() }
    const { read } = run
    for (; read.length < length; read.length++) {
      const told = items[read.length]
      if (!told) continue
      read.paused.delete(told.callId)
      if (!told.ended) read.paused.set(told.callId, told)
      else {
        read.ended = add(read.ended, told)
        // The parent's log counts the child now, so stop counting it here.
        if (run.children.delete(told.callId)) forget(told.callId)
      }
    }
    return read
  }

  function total(id: string): Tally {
    const run = runs.get(id)
    if (!run) return none
    const own = run.logged()
    const { ended, paused } = readNewReports(run, own.children)
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
    totalsOf(ctx, own) {
      const { run } = ctx
      const top = runs.has(run.id) ? (run.parents.findLast((id) => runs.has(id)) ?? run.id) : undefined
      const logged = top === undefined ? undefined : runs.get(top)?.logged()
      if (top === undefined || !logged) {
        const spent = latestReports(own.children).reduce(add, tallyOf(own))
        return { top: own, spent, total: add(spent, reservedTally(ctx.reserved())) }
      }
      const spent = total(top)
      return { top: logged, spent, total: add(spent, reservedBelow(top)) }
    },
    async track(ctx, logged, work) {
      const { run } = ctx
      const above = runs.get(run.parents[0] ?? '')
      const known = runs.get(run.id)
      const children = known?.children ?? new Map<string, number>()
      const own: LiveRun = {
        logged,
        reserved: () => ctx.reserved(),
        live: true,
        children,
        step: () => run.step,
        read: unread,
      }
      runs.set(run.id, own)
      above?.children.set(run.id, above.step())
      try {
        return await work()
      } finally {
        // A driver that lost its lease may end after another one has resumed the run in this process.
        const isReplaced = runs.get(run.id) !== own
        if (!isReplaced && above && runs.get(run.parents[0] ?? '') === above) {
          const left = over(total(run.id), run.step)
          forget(run.id)
          // Keep the totals until the parent's log records them, and drop the run.
          runs.set(run.id, left)
        } else if (!isReplaced) forget(run.id)
      }
    },
  }
}

/** Returns an ended run, which keeps its totals only. */
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

/** The position before the first read. */
const unread: LiveRun['read'] = { items: [], length: 0, ended: none, paused: new Map() }

/** Returns the last report of each child. */
export function latestReports({ items, length }: AppendOnlyList<ChildReport>): readonly Tally[] {
  return [...new Map(items.slice(0, length).map((told) => [told.callId, told])).values()]
}

/** Returns only the totals of an object with more fields. */
export function tallyOf({ tokens, cost, unpriced, toolCalls, steps }: Tally): Tally {
  return { tokens, cost, unpriced, toolCalls, steps }
}

/** Returns the sum of two tallies. */
export function add(a: Tally, b: Tally): Tally {
  return {
    tokens: a.tokens + b.tokens,
    cost: a.cost + b.cost,
    unpriced: a.unpriced || b.unpriced,
    toolCalls: a.toolCalls + b.toolCalls,
    steps: a.steps + b.steps,
  }
}
