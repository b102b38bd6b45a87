import type { HookContext } from '@provost/core'

import type { Denials } from './denied-effect.ts'
import { denialsFold, merged } from './denied-effect.ts'

/** A run of this process, and its denials. */
interface LiveRun {
  denials: () => Denials
  /** The parent waits for its denials. */
  awaited: boolean
  ended: boolean
}

/** Runs by the root of their tree: a denial of one run applies to all of the tree at once. */
const trees = new Map<string, Map<string, LiveRun>>()

/** Returns the denials of a run and of its tree: of active runs, and of those that recorded theirs. */
export function runTreeDenials(ctx: HookContext): Denials {
  let known = ctx.fold(denialsFold)
  for (const [id, run] of trees.get(ctx.run.rootId) ?? []) {
    const more = id === ctx.run.id ? known : run.denials()
    if (more !== known && (more.full || Object.keys(more.values).length > 0)) known = merged(known, more)
  }
  return known
}

/** Registers a run in its tree while it is active. */
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

/** Runs a child, and records its denials in the parent's log. */
export async function whileChildRuns<T>(ctx: HookContext, child: string, next: () => Promise<T>): Promise<T> {
  const { rootId } = ctx.run
  const tree = trees.get(rootId) ?? new Map<string, LiveRun>()
  trees.set(rootId, tree)
  tree.set(child, { denials: () => ctx.fold(denialsFold), awaited: true, ended: false })
  try {
    return await next()
  } finally {
    const { values, full } = tree.get(child)?.denials() ?? { values: {}, full: true }
    // If this write fails, the child's denials are unknown and the fold treats everything as denied.
    await ctx.append(`${child}/${Object.keys(values).length}`, { child, values: { ...values }, full }).catch(() => {})
    forget(rootId, child)
  }
}

function forget(root: string, id: string): void {
  const tree = trees.get(root)
  tree?.delete(id)
  if (tree?.size === 0) trees.delete(root)
}
