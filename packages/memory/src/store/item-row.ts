import type { Label } from '@provost/core'
import { fillLabel, isRecord, untrustedLabel } from '@provost/core'

import type { MemoryKind, MemoryState, StoredItem } from '../items/item.ts'
import type { Candidate } from '../items/memory-store.ts'

/** The columns of an item, joined with its shelf, in the order in which {@link rowOf} takes them. */
export const columns = `i.no, i.id, s.scope, s.kind, s.state, i.text, i.terms, i.label, i.source, i.at, i.valid_from, i.valid_to,
  i.key, i.superseded_by, i.session, i.turn, i.speaker, i.confirmed_by, i.replaces`

/** The columns of a candidate, in the order in which {@link candidateOf} takes them. */
export const candidateColumns = 'i.no, i.shelf, i.terms, i.valid_from, i.valid_to, i.session, i.turn'

export function candidateOf(row: readonly unknown[]): Candidate {
  const [no, shelf, terms, from, to, session, turn] = row
  return {
    no: Number(no),
    shelf: Number(shelf),
    terms: String(terms),
    validFrom: Number(from),
    ...(to !== null && { validTo: Number(to) }),
    ...(typeof session === 'string' && turn !== null && { sessionId: session, turn: Number(turn) }),
  }
}

const kinds: readonly MemoryKind[] = ['block', 'episode', 'fact', 'note']

/** Returns an item from its columns. An invalid label becomes the strictest one, so that no file makes an item trusted. */
export function rowOf(row: readonly unknown[]): StoredItem {
  const [
    no,
    id,
    scope,
    kind,
    state,
    text,
    terms,
    label,
    source,
    at,
    from,
    to,
    key,
    by,
    session,
    turn,
    speaker,
    who,
    replaces,
  ] = row
  const one = <K extends string>(name: K, value: unknown): { readonly [P in K]?: string } =>
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a computed key is widened to string
    (typeof value === 'string' ? { [name]: value } : {}) as { readonly [P in K]?: string }
  return {
    no: Number(no),
    id: String(id),
    scope: String(scope),
    kind: kinds.find((known) => known === kind) ?? 'note',
    state: stateOf(state),
    text: String(text),
    terms: String(terms),
    label: labelFrom(label, String(source)),
    source: String(source),
    at: Number(at),
    validFrom: Number(from),
    ...(to !== null && { validTo: Number(to) }),
    ...one('key', key),
    ...one('supersededBy', by),
    ...one('sessionId', session),
    ...(turn !== null && { turn: Number(turn) }),
    ...one('speaker', speaker),
    ...one('confirmedBy', who),
    ...one('replaces', replaces),
  }
}

function stateOf(state: unknown): MemoryState {
  return state === 'live' || state === 'old' ? state : 'quarantined'
}

function labelFrom(text: unknown, source: string): Label {
  const strictest: Label = { ...untrustedLabel(source), confidentiality: 'secret' }
  try {
    const value: unknown = JSON.parse(String(text))
    return isRecord(value) ? fillLabel(value, strictest) : strictest
  } catch {
    return strictest
  }
}
