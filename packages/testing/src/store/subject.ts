import type { MaybePromise, SessionStore } from '@provost/core'

/** A kind of store, for {@link storeConformance}. */
export interface StoreSubject {
  /** Makes a place that holds nothing yet. */
  place(): MaybePromise<StorePlace>
  /**
   * Who can use a place. `processes`: several at once. `one`: one store at a time; what it leaves, the next one finds.
   * `memory`: only the store that made it, while its process lasts.
   */
  readonly sharing: 'processes' | 'one' | 'memory'
}

/** Where a store keeps its things: a folder, a file, a schema. */
export interface StorePlace {
  open(): MaybePromise<SessionStore>
  /** Removes the place, once all stores on it are closed. */
  remove(): MaybePromise<void>
  /** How another process opens it. Where this is missing, checks with several processes are left out. */
  readonly remote?: RemotePlace
}

/** A place as another process finds it. */
export interface RemotePlace {
  /** URL of a module that exports `open(argument: string)`, which gives a store or a promise of one. */
  readonly module: string
  readonly argument: string
}

/** One thing that any store has to get right. */
export interface StoreCheck {
  /** What it shows, as the name of a test. */
  readonly name: string
  /** Rejects, saying what was expected, when the store does otherwise. */
  run(): Promise<void>
}

/** What a check works with. */
export interface Bench {
  readonly subject: StoreSubject
  /** A store that checks share: each uses names of its own. */
  store(): Promise<SessionStore>
  /** A name that nothing else uses. */
  name(): string
  /** A place of its own, which is removed after the check with all stores that were opened on it. */
  place(): Promise<StorePlace & { open(): Promise<SessionStore> }>
}

/** What a check is before it has something to check. */
export interface CheckDraft {
  readonly name: string
  /** The least sharing it makes sense with; default `memory`. */
  readonly sharing?: StoreSubject['sharing']
  run(bench: Bench): Promise<void>
}
