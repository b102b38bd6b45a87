import type { MaybePromise, SessionStore } from '@provost/core'

/** A kind of store, for {@link storeConformance}. */
export interface StoreSubject {
  /** Creates an empty place. */
  place(): MaybePromise<StorePlace>
  /**
   * Which stores can use a place. `processes`: several processes at once. `one`: one store at a time; the next one
   * finds its data. `memory`: only the store that created it, within its process.
   */
  readonly sharing: 'processes' | 'one' | 'memory'
}

/** Where a store keeps its data: a folder, a file, a schema. */
export interface StorePlace {
  open(): MaybePromise<SessionStore>
  /** Removes the place, once all stores on it are closed. */
  remove(): MaybePromise<void>
  /** How another process opens the place. When absent, checks with several processes are skipped. */
  readonly remote?: RemotePlace
}

/** A place that another process can open. */
export interface RemotePlace {
  /** URL of a module that exports `open(argument: string)`, which returns a store or a promise of one. */
  readonly module: string
  readonly argument: string
}

/** One requirement of every store. */
export interface StoreCheck {
  /** The requirement, as the name of a test. */
  readonly name: string
  /** Rejects with the expectation that the store violates. */
  run(): Promise<void>
}

/** What a check works with. */
export interface Bench {
  readonly subject: StoreSubject
  /** Returns a store that checks share. Each check uses its own names. */
  store(): Promise<SessionStore>
  /** Returns an unused name. */
  name(): string
  /** Creates a place for this check. It is removed afterwards, with all stores opened on it. */
  place(): Promise<StorePlace & { open(): Promise<SessionStore> }>
}

/** A check before it is bound to a store. */
export interface CheckDraft {
  readonly name: string
  /** The least sharing that the check needs; default `memory`. */
  readonly sharing?: StoreSubject['sharing']
  run(bench: Bench): Promise<void>
}
