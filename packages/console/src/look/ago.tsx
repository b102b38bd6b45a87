import type { ReactNode } from 'react'
import { useSyncExternalStore } from 'react'

import { age, duration, moment } from './measures.ts'

const listeners = new Set<() => void>()
let now = Date.now()
let timer: ReturnType<typeof setInterval> | undefined

/** One timer serves all ages of the page. */
function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  timer ??= setInterval(() => {
    now = Date.now()
    for (const one of listeners) one()
  }, 1_000)
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
}

/** The present time, once a second. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => now)
}

/** The age of a moment, such as `4 min ago`; the moment itself is its title. */
export function Ago({ at }: { readonly at: number }): ReactNode {
  const ms = Math.max(0, useNow() - at)
  return (
    <time className="dim" dateTime={new Date(at).toISOString()} title={moment(at)}>
      {ms < 5_000 ? 'now' : `${age(ms)} ago`}
    </time>
  )
}

/** The time until a deadline. */
export function Until({ at }: { readonly at: number }): ReactNode {
  const left = at - useNow()
  return (
    <time className={left < 60_000 ? 'hot' : 'dim'} dateTime={new Date(at).toISOString()} title={moment(at)}>
      {left > 0 ? `expires in ${duration(left)}` : 'expired'}
    </time>
  )
}
