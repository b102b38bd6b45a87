/** The end of something that much is waited for beside it. */
export interface CancelScope {
  /** Rejects what is waited for, and all that comes later. */
  stop(reason: unknown): void
  /** Waits for `work`, unless the end comes first. Unlike a race, it leaves nothing behind that lives as long as the end is away. */
  orStopped<T>(work: Promise<T>): Promise<T>
}

/** Makes a stopper that nobody has stopped. */
export function createCancelScope(): CancelScope {
  const waiting = new Set<(reason: unknown) => void>()
  let over: Promise<never> | undefined
  return {
    stop(reason) {
      over = Promise.reject(reason)
      over.catch(() => {})
      for (const reject of waiting) reject(reason)
      waiting.clear()
    },
    orStopped<T>(work: Promise<T>): Promise<T> {
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
