import type { ArgumentKind } from '../values/argument.ts'
import { withCheckedArguments } from '../values/argument.ts'
import type { SessionStore } from './store.ts'

type Method = Exclude<keyof SessionStore, 'ephemeral' | 'private' | 'transient' | 'place' | 'close'>

const kinds: Readonly<Record<Method, readonly ArgumentKind[]>> = {
  lease: ['text', 'text', 'number', 'object?'],
  leaseState: ['text'],
  releaseQuarantine: ['text'],
  release: ['text', 'number'],
  append: ['text', 'objects', 'position'],
  read: ['text', 'number?'],
  deliver: ['text', 'text', 'any', 'text'],
  inbox: ['text', 'text?'],
  watch: ['text', 'object', 'text?'],
  blob: ['text'],
  putBlob: ['bytes'],
  list: ['object?'],
  delete: ['text'],
}

/** Returns a store whose methods reject arguments of a wrong type with `invalid-argument`. */
export function checkedStore(store: SessionStore): SessionStore {
  return withCheckedArguments(store, 'store', kinds, ['read', 'inbox', 'watch', 'list'])
}
