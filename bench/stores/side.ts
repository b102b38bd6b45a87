import type { Entry, SessionStore } from 'provost'

/** What is measured: a store, or the same rows written and read by hand. */
export interface Side {
  /** Begins a new log. */
  begin(): Promise<Log>
  /** Fills the log that is read. */
  fill(entries: readonly Entry[]): Promise<unknown>
  /** Reads that log from its beginning, and gives the number of entries. */
  read(): Promise<number>
}

/** A log that is appended to. */
export interface Log {
  /** Appends entries, one at a time, each of them stored before the next. */
  append(entries: readonly Entry[]): Promise<unknown>
  end(): Promise<void>
}

/** A kind of store, and its rows by hand. */
export interface Contender {
  readonly name: string
  open(): Promise<{ readonly store: Side; readonly hand: Side; close(): Promise<void> }>
}

const long = 'long'
const batch = 1_000

/** A store, through its interface. */
export function storeSide(store: SessionStore): Side {
  let logs = 0

  async function lease(log: string): Promise<number> {
    const taken = await store.lease(log, 'bench', 600_000)
    if (taken === 'busy') throw new Error(`${log} is busy`)
    return taken.fence
  }

  return {
    async begin() {
      const log = `log-${++logs}`
      const fence = await lease(log)
      let after = 0
      return {
        async append(entries) {
          for (const entry of entries) after = (await store.append(log, [entry], { after, fence })).offset
        },
        end: () => store.release(log, fence),
      }
    },
    async fill(entries) {
      const fence = await lease(long)
      for (let after = 0; after < entries.length; after += batch) {
        await store.append(long, entries.slice(after, after + batch), { after, fence })
      }
      await store.release(long, fence)
    },
    async read() {
      let count = 0
      for await (const { offset } of store.read(long)) if (offset > 0) count++
      return count
    },
  }
}
