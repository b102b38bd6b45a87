import type { SessionStore } from '@provost/core'

/** Where a process may die. `append-before` and `append-after` are a store's; the others are named by whoever has them. */
export interface CrashMoment {
  /** Counts from 1. */
  readonly at: number
  readonly name: string
}

/** A moment as it is known before: the number `at` of all, or the `nth` of a name, where others may come sooner or later. */
export type CrashPoint = number | { readonly name: string; readonly nth: number }

/** Makes something happen to a process at one moment of its work, and no other. */
export interface CrashInjector {
  /** The moments that were reached. */
  readonly moments: readonly CrashMoment[]
  /** Passes a moment, or never resolves: then the process dies here. */
  moment(name: string): Promise<void>
  /** The same store, with a moment before each append and one after it, when it is stored and nobody knows yet. */
  store(store: SessionStore): SessionStore
}

/**
 * Kills this process with SIGKILL at a moment that is counted: it has no chance to close, release or write anything.
 * Make a run with `Infinity` first to learn how many moments there are; then let it die at each, and look at what another
 * process makes of it.
 *
 * @param at the moment to die at, counted from 1; `Infinity` never.
 * @param die instead of killing the process: the work that passes moments through this injector stands still for good.
 *
 * @example
 * const crash = crashAt(Number(process.argv[2]))
 * const pay = tool({ name: 'pay', input, async execute(input) {
 *   const receipt = await charge(input)
 *   await crash.moment('between effect and settle')
 *   return receipt
 * } })
 * const agent = createAgent({ name: 'desk', model, tools: [pay], store: crash.store(sqliteStore(path)) })
 */
export function crashAt(at: CrashPoint, die: (moment: CrashMoment) => void = killProcess): CrashInjector {
  return injector(at, true, (moment) => {
    die(moment)
    return never
  })
}

/**
 * Lets this process stand still at a moment and then go on as if nothing had been: as one does whose machine slept, or
 * was too busy to renew its claim. What others have done meanwhile must hold.
 *
 * @param at the moment to stand still at, from 1.
 * @param pause goes on when it resolves. Default: the process is stopped with SIGSTOP, until somebody sends SIGCONT.
 */
export function pauseAt(at: number, pause: (moment: CrashMoment) => Promise<void> | void = stopProcess): CrashInjector {
  return injector(at, false, pause)
}

const never = new Promise<never>(() => {})

function injector(
  at: CrashPoint,
  fatal: boolean,
  reached: (moment: CrashMoment) => Promise<void> | void,
): CrashInjector {
  const moments: CrashMoment[] = []
  let dead = false

  const isIt = (here: CrashMoment): boolean => {
    if (typeof at === 'number') return here.at === at
    return here.name === at.name && moments.filter(({ name }) => name === at.name).length === at.nth
  }

  async function moment(name: string): Promise<void> {
    // What else is under way when a process dies goes no further either.
    if (dead) return never
    const here = { at: moments.length + 1, name }
    moments.push(here)
    if (!isIt(here)) return undefined
    dead = fatal
    return reached(here)
  }

  return {
    moments,
    moment,
    store: (store) => ({
      ...store,
      lease: async (...given) => (dead ? never : store.lease(...given)),
      release: async (...given) => (dead ? never : store.release(...given)),
      async append(...given) {
        await moment('append-before')
        const appended = await store.append(...given)
        await moment('append-after')
        return appended
      },
    }),
  }
}

function killProcess(): void {
  process.kill(process.pid, 'SIGKILL')
}

function stopProcess(): void {
  process.kill(process.pid, 'SIGSTOP')
}
