import type { DurableEngine, Rest } from '@provost/core'

/** An engine within a process: wakes wait for room in a queue, and for their time on a timer. */
export function localEngine(): DurableEngine {
  const queue: string[] = []
  const timers = new Set<NodeJS.Timeout>()
  const idle = new Set<() => void>()
  let advance: ((sessionId: string) => Promise<Rest>) | undefined
  let room = 0
  let active = 0

  function enqueue(sessionId: string): void {
    if (!queue.includes(sessionId)) queue.push(sessionId)
    next()
  }

  function later(sessionId: string, ms: number): void {
    const timer = setTimeout(() => {
      timers.delete(timer)
      enqueue(sessionId)
    }, ms)
    timers.add(timer)
  }

  function next(): void {
    if (!advance || active >= room) return
    const id = queue.shift()
    if (id === undefined) return
    active++
    void advance(id)
      // The index of the store finds the session again.
      .catch((): Rest => ({ rest: 'done' }))
      .then((rest) => {
        if (rest.rest === 'yielded') enqueue(id)
        if (rest.rest === 'busy') later(id, Math.max(0, rest.until - Date.now()))
      })
      .finally(() => {
        active--
        if (active === 0) for (const resolve of idle) resolve()
        next()
      })
    next()
  }

  return {
    name: 'local',
    async wake(sessionId, { at } = {}) {
      const ms = at === undefined ? 0 : at - Date.now()
      if (ms > 0) later(sessionId, ms)
      else enqueue(sessionId)
    },
    async serve(work, options) {
      advance = work
      room = options.room
      next()
      return {
        async drain(ms) {
          advance = undefined
          for (const timer of timers) clearTimeout(timer)
          if (active === 0) return
          const over = Promise.withResolvers<void>()
          idle.add(over.resolve)
          const timer = setTimeout(over.resolve, ms)
          await over.promise
          clearTimeout(timer)
        },
      }
    },
  }
}
