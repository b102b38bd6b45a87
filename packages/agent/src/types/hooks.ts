import type { EventType, Extension, HookContext, HookName, Hooks, Label, TimedOperation } from '@provost/core'

/** One extension's hook of a name. */
export interface Hooked<K extends HookName> {
  readonly extension: Extension
  readonly hook: NonNullable<Hooks[K]>
}

/** All hooks of an agent by name, in the order of its extensions. A name without hooks has an empty list. */
export type HookTable = { readonly [K in HookName]: readonly Hooked<K>[] }

/** An `event` hook and the event types that it receives; undefined for all. */
export interface HookedEvent extends Hooked<'event'> {
  readonly types?: ReadonlySet<EventType>
}

/** The observers of a run: `around` hooks by operation, and `event` hooks. */
export interface Observers {
  readonly around: Readonly<Record<TimedOperation['kind'], readonly Hooked<'around'>[]>>
  readonly event: readonly HookedEvent[]
}

/** Members of a context that are replaced for one hook. */
export type ContextChanges = Partial<
  Pick<HookContext, 'approval' | 'final' | 'foldInTurns' | 'inTurns' | 'audit' | 'emit' | 'generate' | 'report'>
>

/**
 * The contexts of a run: one per extension, all over the same log, and variants with changes.
 *
 * @param shown label of data that the hook sees and the view does not contain yet. Text that the hook generates carries it.
 */
export type ContextFor = (extension: Extension, changes?: ContextChanges, shown?: Label) => HookContext

/** The running time of the hooks of one extension in a run. */
export interface HookTime {
  /** Hooks that have not answered yet. */
  readonly pendingHooks: Set<PendingHook>
  /** Number of operations in progress with their own limits: meanwhile the clocks of this extension pause. */
  pauses: number
  /** Aborted when a hook exceeds its time; created on first use. */
  abort: AbortController | undefined
  signal: AbortSignal | undefined
}

/** A hook whose answer the run waits for. */
export interface PendingHook {
  /** Remaining time in ms, as of `since`. */
  remainingMs: number
  since: number
  timer: NodeJS.Timeout | undefined
  readonly onTimeout: () => void
}
