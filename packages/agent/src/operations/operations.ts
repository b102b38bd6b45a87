import type { CompositeState } from '../types/session-state.ts'
import { createOrderedReplay } from './ordered-delivery.ts'

/** An operation that a composite has in progress. */
export interface Operation {
  parked: boolean
  /** Called when the log has changed. */
  recheck: (() => void) | undefined
}

/** The operations of a composite, and whether all of them wait for outside input. */
export interface Operations {
  readonly size: number
  readonly parked: boolean
  /** Brings one answer into the log, unless it is there. Resolves when the answer is next in order. */
  run(id: string, work: (operation: Operation) => Promise<void>): Promise<void>
  /** Parks an operation until the callback returns true. */
  waitUntil(operation: Operation, hasCome: () => boolean): Promise<void>
  setParked(operation: Operation, now: boolean): void
  /** Marks the composite as working although its operations wait. */
  busy<T>(work: PromiseLike<T>): Promise<T>
  /** Notifies waiting operations that the log has changed. */
  recheck(): void
  /** Resolves when all operations are parked. */
  allParked(): Promise<void>
  /** Resolves when no operation is in progress. */
  idle(): Promise<void>
  /** Calls back when all operations park, and when they resume. */
  watch(changed: (parked: boolean) => void): void
}

/** What operations need from their composite. */
export interface OperationsHost {
  readonly composite: CompositeState
  /** Rejects if the composite is over before `work` is done. */
  unlessCancelled<T>(work: Promise<T>): Promise<T>
  isOver(): boolean
  /** Throws once the composite is over. */
  throwIfOver(): void
  /** Resolves while operations may start. */
  canStart(): Promise<void>
  /** Called when an operation starts. */
  onStart(): void
  /** Called when all operations park, and when they resume. */
  onParkedChange(parked: boolean): void
}

/** Creates the operations of a composite that was started. */
export function createOperations(host: OperationsHost): Operations {
  const { composite, unlessCancelled, throwIfOver } = host
  const operations = new Map<string, Operation>()
  let [parkedCount, working, changes, parked] = [0, 0, 0, false]
  let parking = Promise.withResolvers<void>()
  let quiet: PromiseWithResolvers<void> | undefined
  let watcher: ((parked: boolean) => void) | undefined
  const replay = createOrderedReplay(composite, {
    isWaitingFor: (id) => operations.has(id),
    isWorking: () => working > 0,
  })

  const allParked = (): boolean =>
    !host.isOver() && working === 0 && operations.size > 0 && parkedCount === operations.size

  function turn(now: boolean): void {
    parked = now
    if (now) parking.resolve()
    else parking = Promise.withResolvers()
    watcher?.(now)
    host.onParkedChange(now)
  }

  function changed(): void {
    const at = ++changes
    if (parked) {
      if (!allParked()) turn(false)
    } else if (allParked()) {
      // Its code may start more operations: it gets a turn of the event loop for that.
      setImmediate(() => {
        if (at === changes && allParked()) turn(true)
      })
    }
  }

  function setParked(operation: Operation, now: boolean): void {
    if (operation.parked === now) return
    operation.parked = now
    parkedCount += now ? 1 : -1
    changed()
  }

  return {
    get size() {
      return operations.size
    },
    get parked() {
      return parked
    },
    setParked,
    async run(id, work) {
      throwIfOver()
      host.onStart()
      const operation: Operation = { parked: false, recheck: undefined }
      operations.set(id, operation)
      changed()
      replay.recheck()
      try {
        if (!composite.answerOrder.has(id)) {
          await unlessCancelled(host.canStart())
          throwIfOver()
          await work(operation)
        }
        await unlessCancelled(replay.awaitTurn(id))
      } finally {
        setParked(operation, false)
        operations.delete(id)
        changed()
        if (operations.size === 0) quiet?.resolve()
      }
    },
    async waitUntil(operation, hasCome) {
      if (hasCome()) return
      const coming = Promise.withResolvers<void>()
      // Resumed at once: a composite that has an answer does not count as parked.
      const look = (): void => {
        if (!hasCome()) return
        setParked(operation, false)
        coming.resolve()
      }
      operation.recheck = look
      setParked(operation, true)
      try {
        await unlessCancelled(coming.promise)
      } finally {
        operation.recheck = undefined
        setParked(operation, false)
      }
    },
    async busy(work) {
      working++
      changed()
      try {
        return await work
      } finally {
        working--
        changed()
        replay.recheck()
      }
    },
    recheck() {
      for (const operation of operations.values()) operation.recheck?.()
    },
    allParked: () => parking.promise,
    idle() {
      if (operations.size === 0) return Promise.resolve()
      quiet = Promise.withResolvers()
      return quiet.promise
    },
    watch: (listener) => void (watcher = listener),
  }
}
