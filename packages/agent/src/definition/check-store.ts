import type { SessionStore } from '@provost/core'
import { ProvostError, isRecord } from '@provost/core'

type Method = Exclude<
  keyof SessionStore,
  | 'ephemeral'
  | 'private'
  | 'clock'
  | 'transient'
  | 'summaries'
  | 'place'
  | 'claimDue'
  | 'setDue'
  | 'erase'
  | 'tombstone'
  | 'sweep'
>

const methods: Readonly<Record<Method, true>> = {
  lease: true,
  leaseState: true,
  releaseQuarantine: true,
  release: true,
  append: true,
  read: true,
  deliver: true,
  inbox: true,
  watch: true,
  blob: true,
  putBlob: true,
  list: true,
  delete: true,
  close: true,
}

/**
 * Rejects a store that lacks methods. It would fail in the first run, in the middle of its work.
 *
 * @throws ProvostError `invalid-store`, with the wrapper for a store of messages.
 */
export function checkStore(store: unknown, where: string): void {
  if (store === undefined) return
  const missing = Object.keys(methods).filter((name) => !hasMethod(store, name))
  if (missing.length === 0) return
  if (['load', 'append', 'exists'].every((name) => hasMethod(store, name))) {
    throw new ProvostError('invalid-store', `The store of ${where} keeps only messages: it has no ${missing[0]}().`, {
      hint: 'Wrap it: store: fromMessageStore(store).',
    })
  }
  const what = isRecord(store) ? `has no ${missing.slice(0, 3).join(', ')}` : `is of type ${typeof store}`
  throw new ProvostError('invalid-store', `The store of ${where} ${what}.`, {
    hint: 'Give memoryStore(), sqliteStore(path), or fromMessageStore({ load, append, exists }) for a store of messages.',
  })
}

function hasMethod(store: unknown, name: string): boolean {
  return isRecord(store) && typeof store[name] === 'function'
}
