/** Runs a limited number of jobs at a time. Other jobs wait in order of arrival. */
export interface WorkQueue {
  /** Rejects with the reason of the signal when it aborts before the job's turn. */
  take<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T>
}

export function workQueue(most: number): WorkQueue {
  const waiting = new Set<() => void>()
  let running = 0

  const next = () => {
    for (const begin of waiting) {
      if (running >= most) return
      waiting.delete(begin)
      begin()
    }
  }
  const turn = (signal: AbortSignal) =>
    new Promise<void>((resolve, reject) => {
      const begin = () => {
        signal.removeEventListener('abort', leave)
        running++
        resolve()
      }
      const leave = () => {
        waiting.delete(begin)
        reject(signal.reason)
      }
      signal.addEventListener('abort', leave, { once: true })
      waiting.add(begin)
    })

  return {
    async take(work, signal) {
      signal.throwIfAborted()
      if (running < most) running++
      else await turn(signal)
      try {
        return await work()
      } finally {
        running--
        next()
      }
    },
  }
}
