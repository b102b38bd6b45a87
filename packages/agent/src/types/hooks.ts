import type { EventType, Extension, HookContext, HookName, Hooks, Label, TimedOperation } from '@provost/core'

/** One extension's hook of a name. */
export interface Hooked<K extends HookName> {
  readonly extension: Extension
  readonly hook: NonNullable<Hooks[K]>
}

/** All hooks of an agent by name, in the order of its extensions. A name nobody hangs on is an empty list. */
export type HookTable = { readonly [K in HookName]: readonly Hooked<K>[] }

/** An `event` hook, and the types it hears of; undefined for all. */
export interface HookedEvent extends Hooked<'event'> {
  readonly types?: ReadonlySet<EventType>
}

/** Who watches a run: around what, and its events. */
export interface Observers {
  readonly around: Readonly<Record<TimedOperation['kind'], readonly Hooked<'around'>[]>>
  readonly event: readonly HookedEvent[]
}

/** What a context has otherwise for one hook. */
export type ContextChanges = Partial<Pick<HookContext, 'approval' | 'audit' | 'emit' | 'generate' | 'report'>>

/**
 * The contexts of a run: one for each extension, all over the same log, and more of them with changes.
 *
 * @param shown the label of what the hook is shown and the view does not have yet.
 */
export type ContextFor = (extension: Extension, changes?: ContextChanges, shown?: Label) => HookContext

/** The time of the hooks of one extension in a run. */
export interface HookTime {
  /** Those that have not answered yet. */
  readonly asked: Set<Asked>
  /** Work that has limits of its own: while there is any, the clocks of this extension stand still. */
  excused: number
  /** Aborted when one of them is out of time; made for those who look. */
  abort: AbortController | undefined
  signal: AbortSignal | undefined
}

/** A hook whose answer the run waits for. */
export interface Asked {
  /** Of its time, in ms, as of `since`. */
  left: number
  since: number
  timer: NodeJS.Timeout | undefined
  readonly over: () => void
}
