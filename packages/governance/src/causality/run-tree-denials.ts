import type { HookContext } from '@provost/core'

import type { Denials } from './denied-effect.ts'
import { denialsFold, merged } from './denied-effect.ts'

/** A run of this process, and what was denied to it. */
interface LiveRun {
  denials: () => Denials
  /** Whoever started it waits to be told. */
  awaited: boolean
  ended: boolean
}

/** By the run that all of a tree come from: what is denied to one of them is denied to all, at once. */
const trees = new Map<string, Map<string, LiveRun>>()

/** What was denied in a run and in all that it shares a tree with, as far as they run or have told. */
export function runTreeDenials(ctx: HookContext): Denials {
  let known = ctx.fold(denialsFold)
  for (const [id, run] of trees.get(ctx.run.rootId) ?? []) {
    const more = id === ctx.run.id ? known : run.denials()
    if (more !== known && (more.full || Object.keys(more.values).length > 0)) known = merged(known, more)
  }
  return known
}

/** Lets the tree know of a run while it goes on. */
export async function whileItRuns<T>(ctx: HookContext, next: () => Promise<T>): Promise<T> {
  const { id, rootId } = ctx.run
  const tree = trees.get(rootId) ?? new Map<string, LiveRun>()
  trees.set(rootId, tree)
  const awaited = tree.get(id)?.awaited ?? false
  const own: LiveRun = { denials: () => ctx.fold(denialsFold), awaited, ended: false }
  tree.set(id, own)
  try {
    return await next()
  } finally {
    const last = ctx.fold(denialsFold)
    own.denials = () => last
    own.ended = true
    if (!own.awaited) forget(rootId, id)
  }
}

/** Runs a child, and writes into the log of whoever started it what was denied to it. */
export async function whileChildRuns<T>(ctx: HookContext, child: string, next: () => Promise<T>): Promise<T> {
  const { rootId } = ctx.run
  const tree = trees.get(rootId) ?? new Map<string, LiveRun>()
  trees.set(rootId, tree)
  tree.set(child, { denials: () => ctx.fold(denialsFold), awaited: true, ended: false })
  try {
    return await next()
  } finally {
    const { values, full } = tree.get(child)?.denials() ?? { values: {}, full: true }
    // Where this cannot be written nobody knows what was denied, and all counts as denied.
    await ctx.append(`${child}/${Object.keys(values).length}`, { child, values: { ...values }, full }).catch(() => {})
    forget(rootId, child)
  }
}

function forget(root: string, id: string): void {
  const tree = trees.get(root)
  tree?.delete(id)
  if (tree?.size === 0) trees.delete(root)
}
