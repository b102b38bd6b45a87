import type { Op, Watching } from '@provost/core'

import type { Hooked, HookTable } from './hook-table.ts'

/** Who watches a run: around what, and its events. */
export interface Watchers {
  readonly around: Readonly<Record<Op['kind'], readonly Hooked<'around'>[]>>
  readonly event: readonly Hooked<'event'>[]
}

const kinds = ['run', 'child', 'step', 'model', 'tool'] as const satisfies readonly Op['kind'][]

/** Asks the extensions that watch not always what they watch of the run that starts. */
export function watchersOf({ around, event }: HookTable): Watchers {
  const asked = new Map<Hooked<'around'>['extension'], Watching | undefined>()
  const watches = ({ extension }: Pick<Hooked<'around'>, 'extension'>): Watching | undefined => {
    if (!extension.watches) return undefined
    if (!asked.has(extension)) asked.set(extension, extension.watches())
    return asked.get(extension)
  }
  const of = (kind: Op['kind']): readonly Hooked<'around'>[] =>
    around.filter((hooked) => watches(hooked)?.ops.includes(kind) ?? true)
  const [run, child, step, model, tool] = kinds.map(of)
  return {
    around: { run: run ?? [], child: child ?? [], step: step ?? [], model: model ?? [], tool: tool ?? [] },
    event: event.filter((hooked) => watches(hooked)?.events ?? true),
  }
}
