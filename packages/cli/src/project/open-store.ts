import { existsSync } from 'node:fs'
import process from 'node:process'

import type { SessionStore } from '@provost/core'
import { displayText, ProvostError } from '@provost/core'
import { jsonlStore, postgresStore, sqliteStore } from '@provost/sessions'

import type { Invocation } from '../command/command.ts'

/** A store and its name without a password. */
export interface OpenStore {
  readonly store: SessionStore
  readonly name: string
  readonly place: StorePlace
}

/** What `--store` or `PROVOST_STORE` names. */
export type StorePlace =
  | { readonly kind: 'sqlite' | 'jsonl'; readonly path: string }
  | { readonly kind: 'postgres'; readonly url: string }

const defaultPath = '.provost/sessions.db'

/**
 * Opens the store of a command: that of `--store`, of `PROVOST_STORE`, or the default one.
 *
 * @param use `create` makes a missing store of files; `existing` reports it.
 * @throws ProvostError `no-store`, and the errors of the stores
 */
export function openStore(given: Invocation, use: 'create' | 'existing'): OpenStore {
  const place = placeOf(given.value('store') ?? (process.env['PROVOST_STORE'] || defaultPath))
  const name = nameOf(place)
  if (use === 'existing' && place.kind !== 'postgres' && !existsSync(place.path)) {
    throw new ProvostError('no-store', `The store ${name} does not exist.`, {
      hint: 'Pass --store or set PROVOST_STORE. provost run creates a store.',
    })
  }
  return { store: storeAt(place), name, place }
}

function storeAt(place: StorePlace): SessionStore {
  if (place.kind === 'postgres') return postgresStore(place.url)
  return place.kind === 'jsonl' ? jsonlStore(place.path) : sqliteStore(place.path)
}

function placeOf(text: string): StorePlace {
  if (/^postgres(ql)?:\/\//.test(text)) return { kind: 'postgres', url: text }
  const [, scheme, path = text] = /^([a-z][a-z0-9+]+):(.*)$/s.exec(text) ?? []
  if (scheme === 'jsonl' && path !== '') return { kind: 'jsonl', path }
  if ((scheme === undefined || scheme === 'sqlite') && path !== '' && path !== ':memory:')
    return { kind: 'sqlite', path }
  throw new ProvostError('no-store', `The store ${displayText(withoutPassword(text), { limit: 300 })} is unknown.`, {
    hint: 'Give the path of an SQLite file, jsonl:DIR or postgres://…',
  })
}

function nameOf(place: StorePlace): string {
  if (place.kind === 'postgres') return displayText(withoutPassword(place.url), { limit: 300 })
  return displayText(place.kind === 'jsonl' ? `jsonl:${place.path}` : place.path, { limit: 300 })
}

/** Removes what stands between the scheme and the host, and all parameters, which may contain a password too. */
function withoutPassword(url: string): string {
  return url.replace(/^([a-z0-9+]+:\/\/)[^/]*@/s, '$1').replace(/\?.*$/s, '')
}
