import type { SessionStore } from '@provost/core'

/**
 * A moment at which a process may die. Stores pass `append-before` and `append-after`; the code under test names the
 * others.
 */
export interface CrashMoment {
  /** Counts from 1. */
  readonly at: number
  readonly name: string
}

/**
 * Selects a moment in advance: number `at` of all moments, or the `nth` of a name when the order of other moments
 * varies.
 */
export type CrashPoint = number | { readonly name: string; readonly nth: number }

/** Triggers an action at one moment of a process's work. */
export interface CrashInjector {
  /** The moments reached so far. */
  readonly moments: readonly CrashMoment[]
  /** Passes a moment. At the selected one the process dies and the promise never resolves. */
  moment(name: string): Promise<void>
  /** Wraps a store with a moment before each append and one after it, when it is stored but not yet confirmed. */
  store(store: SessionStore): SessionStore
}

/**
 * Kills this process with SIGKILL at one counted moment: it cannot close, release or write anything. Run once with
 * `Infinity` to count the moments. Then let the process die at each, and check how another process resumes.
 *
 * @param at the moment to die at, counted from 1; `Infinity` never.
 * @param die replaces the kill: work that passes a moment of this injector then never continues.
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
 * Pauses this process at a moment and then continues, like a process on a suspended machine. Its leases may expire
 * meanwhile, and changes that other processes made must hold.
 *
 * @param at the moment to pause at.
 * @param pause returns a promise; the process continues when it resolves. Default: SIGSTOP, until the process receives
 * SIGCONT.
 */
export function pauseAt(
  at: CrashPoint,
  pause: (moment: CrashMoment) => Promise<void> | void = stopProcess,
): CrashInjector {
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
    // Other work in a dead process does not continue either.
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
