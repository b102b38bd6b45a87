import type { EventType, Op, Watching } from '@provost/core'

import type { Hooked, HookTable } from './hook-table.ts'

/** Who watches a run: around what, and its events. */
export interface Watchers {
  readonly around: Readonly<Record<Op['kind'], readonly Hooked<'around'>[]>>
  readonly event: readonly HookedEvent[]
}

/** An `event` hook, and the types it hears of; undefined for all. */
export interface HookedEvent extends Hooked<'event'> {
  readonly types?: ReadonlySet<EventType>
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
    event: event.flatMap((hooked): readonly HookedEvent[] => {
      const types = watches(hooked)?.events ?? true
      return typeof types === 'boolean' ? (types ? [hooked] : []) : [{ ...hooked, types: new Set(types) }]
    }),
  }
}
