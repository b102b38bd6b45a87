/** Cancels several waits at once. */
export interface CancelScope {
  /** Rejects all current and later waits. */
  cancel(reason: unknown): void
  /** Waits for `work`, or rejects when the scope is stopped. Unlike a race, it leaves no handlers behind. */
  unlessCancelled<T>(work: Promise<T>): Promise<T>
}

/** Creates an active cancel scope. */
export function createCancelScope(): CancelScope {
  const waiting = new Set<(reason: unknown) => void>()
  let over: Promise<never> | undefined
  return {
    cancel(reason) {
      over = Promise.reject(reason)
      over.catch(() => {})
      for (const reject of waiting) reject(reason)
      waiting.clear()
    },
    unlessCancelled<T>(work: Promise<T>): Promise<T> {
      if (over) return Promise.race([work, over])
      return new Promise<T>((resolve, reject) => {
        waiting.add(reject)
        work.then(
          (value) => {
            waiting.delete(reject)
            resolve(value)
          },
          (error: unknown) => {
            waiting.delete(reject)
            reject(error)
          },
        )
      })
    },
  }
}
