import type { CompositeState } from '../types/session-state.ts'
import { createOrderedReplay } from './ordered-delivery.ts'

/** Something that a composite has under way. */
export interface Operation {
  parked: boolean
  /** Called when the log has changed. */
  look: (() => void) | undefined
}

/** What a composite has under way, and whether all of it waits for somebody outside. */
export interface Operations {
  readonly size: number
  readonly parked: boolean
  /** Brings one answer into the log, unless it is there, and resolves when it is its turn. */
  run(id: string, work: (one: Operation) => Promise<void>): Promise<void>
  /** Waits for somebody outside. */
  until(one: Operation, come: () => boolean): Promise<void>
  setParked(one: Operation, now: boolean): void
  /** Says that the composite is at work although its acts wait. */
  busy<T>(work: PromiseLike<T>): Promise<T>
  /** The log has changed: what waits may go on. */
  look(): void
  /** Resolves when all is parked. */
  parking(): Promise<void>
  /** Resolves when nothing is under way any more. */
  idle(): Promise<void>
  /** Calls back when all parks, and when it goes on. */
  watch(changed: (parked: boolean) => void): void
}

/** What acts have to know of their composite. */
export interface OperationsHost {
  readonly fold: CompositeState
  /** Rejects when the composite is over before `work` is done. */
  orStopped<T>(work: Promise<T>): Promise<T>
  isOver(): boolean
  /** Throws once the composite is over. */
  heed(): void
  /** Resolves while something may be begun. */
  open(): Promise<void>
  /** Something begins. */
  begins(): void
  /** Told when all is parked and when it goes on. */
  turned(parked: boolean): void
}

/** Makes the acts of a composite that was entered. */
export function createOperations(host: OperationsHost): Operations {
  const { fold, orStopped, heed } = host
  const acts = new Map<string, Operation>()
  let [parkedActs, working, changes, parked] = [0, 0, 0, false]
  let parking = Promise.withResolvers<void>()
  let quiet: PromiseWithResolvers<void> | undefined
  let watcher: ((parked: boolean) => void) | undefined
  const deliveries = createOrderedReplay(fold, { asks: (id) => acts.has(id), atWork: () => working > 0 })

  const allParked = (): boolean => !host.isOver() && working === 0 && acts.size > 0 && parkedActs === acts.size

  function turn(now: boolean): void {
    parked = now
    if (now) parking.resolve()
    else parking = Promise.withResolvers()
    watcher?.(now)
    host.turned(now)
  }

  function changed(): void {
    const at = ++changes
    if (parked) {
      if (!allParked()) turn(false)
    } else if (allParked()) {
      // Its code may be about to do more: it has a turn of the event loop for that.
      setImmediate(() => {
        if (at === changes && allParked()) turn(true)
      })
    }
  }

  function setParked(one: Operation, now: boolean): void {
    if (one.parked === now) return
    one.parked = now
    parkedActs += now ? 1 : -1
    changed()
  }

  return {
    get size() {
      return acts.size
    },
    get parked() {
      return parked
    },
    setParked,
    async run(id, work) {
      heed()
      host.begins()
      const one: Operation = { parked: false, look: undefined }
      acts.set(id, one)
      changed()
      deliveries.look()
      try {
        if (!fold.orders.has(id)) {
          await orStopped(host.open())
          heed()
          await work(one)
        }
        await orStopped(deliveries.turn(id))
      } finally {
        setParked(one, false)
        acts.delete(id)
        changed()
        if (acts.size === 0) quiet?.resolve()
      }
    },
    async until(one, come) {
      if (come()) return
      const coming = Promise.withResolvers<void>()
      const look = (): void => {
        if (come()) coming.resolve()
      }
      one.look = look
      setParked(one, true)
      try {
        await orStopped(coming.promise)
      } finally {
        one.look = undefined
        setParked(one, false)
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
        deliveries.look()
      }
    },
    look() {
      for (const one of acts.values()) one.look?.()
    },
    parking: () => parking.promise,
    idle() {
      if (acts.size === 0) return Promise.resolve()
      quiet = Promise.withResolvers()
      return quiet.promise
    },
    watch: (listener) => void (watcher = listener),
  }
}
