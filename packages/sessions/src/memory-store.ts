import { createHash } from 'node:crypto'

import { ProvostError } from '@provost/core'
import type { Delivery, Entry, NewEntry, SessionInfo, SessionStore } from '@provost/core'

import { sessionInfo } from './session-info.ts'

interface Log {
  readonly entries: Entry[]
  readonly byId: Map<string, Entry>
  fence: number
  lease: { readonly owner: string; readonly until: number } | undefined
}

/** A writer that knows where its entry will stand hands it over whole: then it is shared, not copied. */
function placed(entry: NewEntry, offset: number): Entry {
  return isPlaced(entry, offset) ? entry : Object.freeze({ ...entry, offset })
}

function isPlaced(entry: NewEntry, offset: number): entry is Entry {
  return 'offset' in entry && entry.offset === offset && Object.isFrozen(entry)
}

/**
 * A store in this process's memory: the default, for scripts and tests. Nothing outlives the process.
 *
 * @example
 * const agent = createAgent({ name: 'a', model, store: memoryStore() })
 */
export function memoryStore(): SessionStore {
  const logs = new Map<string, Log>()
  const inboxes = new Map<string, Map<string, Delivery>>()
  const blobs = new Map<string, Uint8Array>()
  const watchers = new Map<string, Set<() => void>>()
  /** Counts over all logs: that of a log which is deleted and begun anew is still a later one. */
  let fences = 0
  const closing = new AbortController()

  function logOf(name: string): Log {
    let log = logs.get(name)
    if (!log) logs.set(name, (log = { entries: [], byId: new Map(), fence: 0, lease: undefined }))
    return log
  }

  function wake(sessionId: string): void {
    for (const notify of watchers.get(sessionId) ?? []) notify()
  }

  return {
    ephemeral: true,

    async lease(name, owner, ttlMs) {
      const log = logOf(name)
      const now = Date.now()
      const held = log.lease
      if (held && held.owner !== owner && held.until > now) return 'busy'
      if (held?.owner !== owner) log.fence = ++fences
      log.lease = { owner, until: now + ttlMs }
      return { fence: log.fence }
    },

    async release(name, fence) {
      const log = logs.get(name)
      if (log?.fence === fence) log.lease = undefined
    },

    async append(name, entries, { after, fence }) {
      const log = logOf(name)
      if (log.fence !== fence || !log.lease) {
        throw new ProvostError('fenced', `The lease on log ${name} is no longer held.`, {
          hint: 'Another writer took over: read the log and resume from it.',
        })
      }
      const existing: Entry[] = []
      const fresh: Entry[] = []
      let adopted = 0
      for (const entry of entries) {
        const known = log.byId.get(entry.id)
        if (known) {
          existing.push(known)
          if (known.offset > after) adopted++
        } else fresh.push(placed(entry, log.entries.length + fresh.length + 1))
      }
      if (fresh.length > 0 && log.entries.length !== after + adopted) {
        throw new ProvostError('wrong-offset', `Log ${name} is at ${log.entries.length}, not at ${after}.`, {
          hint: 'The writer missed entries: read the log and resume from it.',
        })
      }
      for (const entry of fresh) {
        log.entries.push(entry)
        log.byId.set(entry.id, entry)
      }
      if (watchers.size > 0) wake(name)
      return { offset: log.entries.length, existing }
    },

    async *read(name, after = 0) {
      const entries = logs.get(name)?.entries ?? []
      const end = entries.length
      for (let i = after; i < end; i++) {
        const entry = entries[i]
        if (entry) yield entry
      }
    },

    async deliver(sessionId, token, value, by) {
      let inbox = inboxes.get(sessionId)
      if (!inbox) inboxes.set(sessionId, (inbox = new Map()))
      if (inbox.has(token)) return 'duplicate'
      const id = String(inbox.size + 1).padStart(12, '0')
      inbox.set(token, Object.freeze({ id, token, value, by, at: Date.now() }))
      wake(sessionId)
      return 'accepted'
    },

    async *inbox(sessionId, after = '') {
      for (const delivery of [...(inboxes.get(sessionId)?.values() ?? [])]) {
        if (delivery.id > after) yield delivery
      }
    },

    async *watch(sessionId, signal) {
      let news = Promise.withResolvers<void>()
      const notify = (): void => news.resolve()
      const set = watchers.get(sessionId) ?? new Set()
      watchers.set(sessionId, set.add(notify))
      const ended = AbortSignal.any([signal, closing.signal])
      ended.addEventListener('abort', notify, { once: true })
      try {
        while (!ended.aborted) {
          await news.promise
          news = Promise.withResolvers<void>()
          if (!ended.aborted) yield
        }
      } finally {
        ended.removeEventListener('abort', notify)
        set.delete(notify)
        if (set.size === 0) watchers.delete(sessionId)
      }
    },

    async blob(hash) {
      return blobs.get(hash)
    },

    async putBlob(bytes) {
      const hash = createHash('sha256').update(bytes).digest('hex')
      if (!blobs.has(hash)) blobs.set(hash, bytes.slice())
      return hash
    },

    async *list({ principal, status, after = '', limit = Number.POSITIVE_INFINITY } = {}) {
      const rows: SessionInfo[] = []
      for (const [id, log] of logs) {
        const info = id > after ? sessionInfo(id, log.entries) : undefined
        if (!info) continue
        if (principal !== undefined && info.principal !== principal) continue
        if (status !== undefined && info.status !== status) continue
        rows.push(info)
      }
      yield* rows.toSorted((a, b) => (a.id < b.id ? -1 : 1)).slice(0, limit)
    },

    async delete(sessionId) {
      const doomed = [sessionId]
      for (let name = doomed.pop(); name !== undefined; name = doomed.pop()) {
        for (const entry of logs.get(name)?.entries ?? []) if (entry.type === 'child') doomed.push(entry.log)
        logs.delete(name)
      }
      inboxes.delete(sessionId)
    },

    async close() {
      closing.abort()
    },
  }
}
