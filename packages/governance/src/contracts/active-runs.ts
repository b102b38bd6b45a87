import type { HookContext } from '@provost/core'

/** The runs of this process that an extension follows, so that it finds the runs above another one. */
export interface ActiveRuns {
  /** Makes a run known to its children while it is active. */
  whileItRuns<T>(ctx: HookContext, next: () => Promise<T>): Promise<T>
  /** Returns the context of the run that spawned this one, if it is known. */
  above(ctx: HookContext): HookContext | undefined
  /** Returns the context of the outermost run that is known. */
  outermost(ctx: HookContext): HookContext
}

export function activeRuns(): ActiveRuns {
  const runs = new Map<string, HookContext>()
  return {
    async whileItRuns(ctx, next) {
      runs.set(ctx.run.id, ctx)
      try {
        return await next()
      } finally {
        // A driver that lost its lease may end after another one has resumed the run in this process.
        if (runs.get(ctx.run.id) === ctx) runs.delete(ctx.run.id)
      }
    },
    above: ({ run }) => runs.get(run.parents[0] ?? ''),
    outermost(ctx) {
      const id = ctx.run.parents.findLast((parent) => runs.has(parent))
      return (id !== undefined && runs.get(id)) || ctx
    },
  }
}
