import type { DurableEngine, MaybePromise, SessionStore } from '@provost/core'

import type { EngineCall, EngineChief, EngineDesk, EngineMoment, OutsideEffect } from './engine-desk.ts'

/** How a store is away: it accepts no connections, or it keeps them and nothing arrives. */
export type StoreOutage = 'refused' | 'silent'

/** An engine, for {@link engineConformance}. */
export interface EngineSubject {
  /** URL of a module that exports {@link EngineModule.open}. Checks with several processes open it in each of them. */
  readonly module: string
  /**
   * Milliseconds of a lease; default 400. A slow store needs more: a session whose lease expires while it is opened is
   * never advanced.
   */
  readonly leaseMs?: number
  /** The outages that `takeStoreAway` of the place can cause. Default none: their checks are left out. */
  readonly outages?: readonly StoreOutage[]
  /** Creates an empty place: a store that processes can share, and what the engine needs. */
  place(): MaybePromise<EnginePlace>
}

/** Where the processes of a check meet. */
export interface EnginePlace {
  /** Says to `open` where it is. */
  readonly argument: string
  /** Resolves when the engine knows a worker that has been created; absent for an engine that knows it at once. */
  ready?(): Promise<void>
  /**
   * Kills the server of the engine; absent for an engine without one.
   *
   * @returns starts it again, with its data.
   */
  killServer?(): Promise<() => Promise<void>>
  /**
   * Takes the store away from all processes.
   *
   * @returns gives it back.
   */
  takeStoreAway?(outage: StoreOutage): () => void
  /** Returns what the server of the engine stores, as text; absent for an engine without one. */
  stored?(): Promise<string>
  remove(): MaybePromise<void>
}

/** What the module of a subject exports. */
export interface EngineModule {
  /** Opens a place in a process, with the agents of the check made of the options of a desk and of its chief. */
  open(argument: string, desk: EngineDesk, chief: EngineChief): MaybePromise<EngineParts>
}

/** What a process of a check consists of. */
export interface EngineParts {
  readonly store: SessionStore
  /** Absent: the store alone finds what is due. */
  readonly engine?: DurableEngine
  /** Creates a session of the desk, without running it. */
  createSession(options: NewEngineSession): Promise<{ close(): Promise<void> }>
  /** The same for the chief. */
  createChiefSession(options: NewEngineSession): Promise<{ close(): Promise<void> }>
  /** Starts a worker of both agents with the store and the engine. Give it a short `pollMs`. */
  createWorker(options: { readonly concurrency: number }): EngineWorker
}

/** A session that a check creates. */
export interface NewEngineSession {
  readonly id: string
  readonly principal: { readonly id: string }
}

/** A worker, as far as a check uses it. */
export interface EngineWorker {
  readonly running: number
  close(options: { readonly graceMs: number }): Promise<void>
}

/** One requirement of every engine. */
export interface EngineCheck {
  /** The requirement, as the name of a test. */
  readonly name: string
  /** It starts processes and kills them: seconds instead of milliseconds. */
  readonly isSlow: boolean
  /** Rejects with the expectation that the engine violates. */
  run(): Promise<void>
}

/** A worker in the process of a check. */
export interface LocalWorker extends EngineWorker {
  readonly parts: EngineParts
  /** Most calls at once, by the first part of the ids of their sessions. */
  readonly peaks: ReadonlyMap<string, number>
}

/** A worker in a process of its own. */
export interface DistantWorker {
  /** Resolves when the process has reached the moment at which it stops by itself. */
  readonly reached: Promise<void>
  signal(name: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): void
  ended(): Promise<void>
}

/** What a check works with. */
export interface EngineBench {
  readonly place: EnginePlace
  /** Milliseconds of a lease. */
  readonly leaseMs: number
  /** The store of the check itself, whose deliveries wake no engine. */
  readonly store: SessionStore
  /** Creates a session with unread input that asks for calls. */
  begin(id: string, calls: readonly EngineCall[], principal?: string): Promise<void>
  /** The same for a session of the chief, whose desks each make one of the calls. */
  beginChief(id: string, calls: readonly EngineCall[]): Promise<void>
  /** Returns the ids of the sessions of the children of a session. */
  childrenOf(id: string): Promise<readonly string[]>
  worker(options?: { readonly room?: number }): Promise<LocalWorker>
  /** @param holds the moment at which the process stops and does nothing more. */
  distantWorker(holds?: EngineMoment): Promise<DistantWorker>
  /** Returns the tokens of the approvals that a session waits for. */
  questions(id: string): Promise<readonly string[]>
  /** Waits until a session waits for an approval. @returns its token */
  question(id: string): Promise<string>
  effects(): readonly OutsideEffect[]
  /**
   * Waits until sessions have ended, and checks that each has one end with the status, and as many different effects.
   *
   * @param status default `completed`.
   */
  ended(ids: readonly string[], effects: number, status?: string): Promise<void>
}

/** A check before it is bound to an engine. */
export interface EngineDraft {
  readonly name: string
  readonly isSlow?: true
  /** It needs a place that causes this outage. */
  readonly outage?: StoreOutage
  run(bench: EngineBench): Promise<void>
}
