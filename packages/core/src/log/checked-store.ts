import type { ArgumentKind } from '../values/argument.ts'
import { withCheckedArguments } from '../values/argument.ts'
import type { SessionStore } from './store.ts'

type Method = Exclude<
  keyof SessionStore,
  'ephemeral' | 'private' | 'clock' | 'transient' | 'summaries' | 'place' | 'close'
>

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
  erase: ['text', 'text'],
  tombstone: ['text'],
  sweep: ['object'],
  claimDue: ['object'],
  setDue: ['text', 'object'],
}

/** The appends behind those that check their arguments. */
const uncheckedAppends = new WeakMap<SessionStore['append'], SessionStore['append']>()

/** Returns a store whose methods reject arguments of a wrong type with `invalid-argument`. */
export function checkedStore(store: SessionStore): SessionStore {
  const checked = withCheckedArguments(store, 'store', kinds, ['read', 'inbox', 'watch', 'list'])
  uncheckedAppends.set(checked.append, (log, entries, at) => store.append(log, entries, at))
  return checked
}

/** Returns the append of a store for a caller in TypeScript: where the store checks arguments, the check is left out. */
export function uncheckedAppend(store: SessionStore): SessionStore['append'] {
  return uncheckedAppends.get(store.append) ?? ((log, entries, at) => store.append(log, entries, at))
}
