import type { Extension } from '@provost/core'

import { report } from '../control/report.ts'
import type { Hooked } from '../types/hooks.ts'
import type { RunContext } from '../types/run-context.ts'

export type AroundHook = Hooked<'around'>['hook']

/**
 * Runs `next` inside the `around` hooks, the first extension outermost. Without hooks it costs one comparison.
 *
 * @param by the extension that started the operation; its hook is skipped.
 */
export function around<T>(
  ctx: RunContext,
  op: Parameters<AroundHook>[0],
  next: () => Promise<T>,
  by?: Extension,
): Promise<T> {
  const hooks = ctx.observers().around[op.kind]
  const [only] = hooks
  if (!only) return next()
  if (hooks.length === 1) return only.extension === by ? next() : callAround(ctx, only, op, next)
  return hooks.reduceRight<() => Promise<T>>(
    (inner, hooked) => (hooked.extension === by ? inner : () => callAround(ctx, hooked, op, inner)),
    next,
  )()
}

/** Runs one `around` hook. The hook may fail; it can neither change the result nor skip the operation. */
async function callAround<T>(
  ctx: RunContext,
  { extension, hook }: Hooked<'around'>,
  op: Parameters<AroundHook>[0],
  inner: () => Promise<T>,
): Promise<T> {
  let ran: Promise<T> | undefined
  const once = (): Promise<T> => (ran ??= inner())
  const failed = (thrown: unknown): void =>
    report(ctx, thrown, { kind: 'hook', name: extension.name }, undefined, `the around hook of ${extension.name}`)
  try {
    await hook(op, once, ctx.contextFor(extension))
  } catch (thrown) {
    // Report the hook's own errors only, not those of the operation.
    if (!ran) failed(thrown)
    else
      await ran.then(
        () => failed(thrown),
        () => {},
      )
  }
  // Awaited here: returning the promise would take two more microtasks.
  return await once()
}
