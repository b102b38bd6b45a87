import type { Timestamp } from '../values/json.ts'

/** Why a session rests after it was advanced. */
export type Rest =
  /** No run is open, and no input waits for one. */
  | { readonly rest: 'done' }
  /** The run waits for an answer; until `at`, where it has a deadline. */
  | { readonly rest: 'waits'; readonly at?: Timestamp }
  /** Another writer has the session. Its lease ends at `until` unless it is renewed. */
  | { readonly rest: 'busy'; readonly until: Timestamp }
  /** The run made room for others at a step boundary. It can continue at once. */
  | { readonly rest: 'yielded' }

/** What {@link DurableEngine.wake} may say beside the session. */
export interface WakeOptions {
  /** When the session has to be advanced; default at once. */
  readonly at?: Timestamp
  /** Wakes with the same key may be joined. */
  readonly key?: string
  /** Whose limits apply. */
  readonly tenant?: string
}

/** What a process offers to an engine. */
export interface EngineOptions {
  /** Names of the agents whose sessions the process can advance. */
  readonly agents: readonly string[]
  /** Sessions that the process advances at once, at most. */
  readonly room: number
}

/** The work of an engine in this process. */
export interface EngineService {
  /** Advances no further sessions. Resolves when none is being advanced here, or after `ms` milliseconds. */
  drain(ms: number): Promise<void>
}

/**
 * Runs a function for a session, later, at least once. The state, the order and the exactness are in the store: a wake may
 * be lost, doubled or late, and the store's own index finds what an engine forgot.
 */
export interface DurableEngine {
  readonly name: string
  /** Asks for a session to be advanced, by any process that serves its agent. A hint: it may be lost or doubled. */
  wake(sessionId: string, options?: WakeOptions): Promise<void>
  /**
   * Takes work for this process until it is drained.
   *
   * @param advance advances a session until it rests. It may be called again for the same session at any time. A
   * rejection is a failure of the process or its store: repeat it later.
   */
  serve(advance: (sessionId: string) => Promise<Rest>, options: EngineOptions): Promise<EngineService>
}
