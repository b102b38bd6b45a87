import type { TimedOperation, Watching } from '@provost/core'

import type { HookTable, Hooked, HookedEvent, Observers } from '../types/hooks.ts'

const kinds = ['run', 'child', 'step', 'model', 'tool'] as const satisfies readonly TimedOperation['kind'][]

/** Returns the observers of a run that starts. Extensions with `watches` select operations and events for each run. */
export function observersOf({ around, event }: HookTable): Observers {
  const asked = new Map<Hooked<'around'>['extension'], Watching | undefined>()
  const watches = ({ extension }: Pick<Hooked<'around'>, 'extension'>): Watching | undefined => {
    if (!extension.watches) return undefined
    if (!asked.has(extension)) asked.set(extension, extension.watches())
    return asked.get(extension)
  }
  const of = (kind: TimedOperation['kind']): readonly Hooked<'around'>[] =>
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
