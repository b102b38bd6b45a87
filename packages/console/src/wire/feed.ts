import type { ConsoleSession } from '@provost/server/console'
import { EventSourceParserStream } from 'eventsource-parser/stream'

import { sharedValue, useShared } from '../look/shared-value.ts'
import { ask } from './connection.ts'

/** Whether changes arrive: `stale` since the last word of the server. */
export type Liveness = { readonly kind: 'connecting' | 'live' } | { readonly kind: 'stale'; readonly since: number }

const connecting: Liveness = { kind: 'connecting' }
const live: Liveness = { kind: 'live' }

const liveness = sharedValue<Liveness>(connecting)

export function useLiveness(): Liveness {
  return useShared(liveness)
}

/** What the feed tells. */
export interface FeedReader {
  changed(session: ConsoleSession): void
  /** Changes may have been missed. */
  missed(): void
}

const soonestMs = 500
const latestMs = 15_000
const hiddenMs = 60_000
/** The server sends a comment more often than this. */
const silentMs = 60_000

/** Reads the feed of all sessions until it is stopped. A page that is hidden for a minute closes it, and opens it when it is shown. */
export function startFeed(reader: FeedReader): () => void {
  const stopped = new AbortController()
  let reading = new AbortController()
  let hidden: ReturnType<typeof setTimeout> | undefined
  let last: string | undefined
  let wake = (): void => {}

  function visibility(): void {
    clearTimeout(hidden)
    if (document.hidden) hidden = setTimeout(() => reading.abort(), hiddenMs)
    else wake()
  }

  async function read(): Promise<void> {
    reading = new AbortController()
    const signal = AbortSignal.any([reading.signal, stopped.signal])
    const response = await ask('/api/console/feed', {
      signal,
      headers: last === undefined ? {} : { 'last-event-id': last },
    })
    if (last === undefined || liveness.get().kind === 'stale') reader.missed()
    liveness.set(live)
    let silence = setTimeout(() => reading.abort(), silentMs)
    const heard = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
      transform(bytes, controller) {
        clearTimeout(silence)
        silence = setTimeout(() => reading.abort(), silentMs)
        controller.enqueue(bytes)
      },
    })
    const frames = response.body
      ?.pipeThrough(heard)
      .pipeThrough(new TextDecoderStream())
      .pipeThrough(new EventSourceParserStream())
    try {
      for await (const { id, event, data } of frames ?? []) {
        if (id !== undefined) last = id
        if (event === 'session.changed') reader.changed(JSON.parse(data))
      }
    } finally {
      clearTimeout(silence)
    }
  }

  async function run(): Promise<void> {
    for (let wait = soonestMs; !stopped.signal.aborted;) {
      const before = performance.now()
      await read().catch(() => {})
      if (stopped.signal.aborted) return
      if (liveness.get().kind !== 'stale') liveness.set({ kind: 'stale', since: Date.now() })
      // A connection that held for a while was not the fault of the server.
      if (performance.now() - before > latestMs) wait = soonestMs
      await pause(document.hidden ? Number.POSITIVE_INFINITY : wait * (0.5 + Math.random()))
      wait = Math.min(latestMs, wait * 2)
    }
  }

  function pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = Number.isFinite(ms) ? setTimeout(resolve, ms) : undefined
      wake = () => {
        clearTimeout(timer)
        resolve()
      }
      stopped.signal.addEventListener('abort', wake, { once: true })
    })
  }

  document.addEventListener('visibilitychange', visibility)
  void run()
  return () => {
    document.removeEventListener('visibilitychange', visibility)
    clearTimeout(hidden)
    stopped.abort()
    liveness.set(connecting)
  }
}
