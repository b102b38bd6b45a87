/** Background tasks of a session object. */
export interface Background {
  /** Tracks a task. */
  watch(task: Promise<unknown>): void
  /** Resolves when all tasks have ended; undefined if there are none. */
  underway(): Promise<unknown> | undefined
  /** Returns the last error of a task, once. */
  takeError(): unknown
}

/** Creates the tracker of a session object's background tasks. */
export function createBackground(): Background {
  const watched = new Set<Promise<unknown>>()
  let fault: unknown

  return {
    watch(task) {
      const work = task.catch((thrown: unknown) => {
        fault = thrown
      })
      watched.add(work)
      void work.then(() => watched.delete(work))
    },
    underway: () => (watched.size > 0 ? Promise.all(watched) : undefined),
    takeError() {
      const thrown = fault
      fault = undefined
      return thrown
    },
  }
}
