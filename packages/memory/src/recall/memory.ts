import type { Clock, Extension } from '@provost/core'
import {
  ProvostError,
  clockOf,
  fillLabel,
  systemClock,
  trustedLabel,
  uuidv7,
  withCheckedArguments,
} from '@provost/core'

import { embed, embedderName, rerank } from '../items/embedding.ts'
import type {
  MemoryHit,
  MemoryInit,
  MemoryItem,
  MemoryKind,
  MemoryScope,
  MemoryState,
  NewItem,
  StoredItem,
} from '../items/item.ts'
import { isName, itemOf, scopeKey, scopeOf } from '../items/item.ts'
import type { NearestItem } from '../items/memory-store.ts'
import { rank } from '../items/rank.ts'
import { memoryPlace } from '../store/resolve-store.ts'
import {
  checkConfirmation,
  checkInit,
  checkListOptions,
  checkMemoryOptions,
  checkRecallOptions,
  checkTarget,
} from './known-memory-options.ts'
import { memoryExtension } from './memory-extension.ts'
import type { Memory, MemoryExplanation, MemoryOptions, MemoryReach, RecallOptions } from './memory-options.ts'

const searched: readonly MemoryKind[] = ['episode', 'fact', 'note']
const allKinds: readonly MemoryKind[] = ['block', ...searched]

/**
 * Creates a memory.
 *
 * @throws ProvostError `unknown-option`; `memory-place` for a session store without a known location.
 *
 * @example
 * const memory = createMemory({ store: sqliteMemory('memory.db') })
 * const agent = createAgent({ name: 'desk', model, extensions: [memory] })
 * await memory.remember('Ann prefers mails in French.', { source: 'crm', principal: { id: 'ann' } })
 */
export function createMemory(options: MemoryOptions): Memory {
  checkMemoryOptions(options)
  const { embedder, reranker, weights = {}, maxChars = 16_384, onFault = warn } = options
  const store = memoryPlace(options.store)
  const clock = options.clock ?? ('postings' in options.store ? systemClock : clockOf(options.store))
  let words: Promise<typeof import('../items/search-terms.ts')> | undefined
  /** Loads the language data at the first use. */
  const language = (): Promise<typeof import('../items/search-terms.ts')> =>
    (words ??= import('../items/search-terms.ts'))

  async function remember(text: string, init: MemoryInit, replaces?: string): Promise<StoredItem | undefined> {
    const made = newItem(text, init, maxChars, clock)
    const { termsOf } = await language()
    const item = { ...made, terms: termsOf(made.text).join(' ') }
    const row = await store.put({ ...item, ...(replaces !== undefined && { replaces }) })
    if (row && row.scope !== item.scope) throw invalid('its id belongs to an item of another scope')
    if (row && embedder && row.text.trim() !== '') {
      // The words are stored already: without the vector, recall still finds the item.
      await attempt(async () => store.putVector(row.no, embedderName(embedder), await embed(embedder, row.text)))
    }
    return row
  }

  async function attempt<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work()
    } catch (error) {
      onFault(error)
      return undefined
    }
  }

  async function update(id: string, text: string, init: Partial<MemoryInit> = {}): Promise<MemoryItem> {
    checkInit(init, 'memory.update')
    const old = await store.get(id)
    if (!old || old.state !== 'live') throw noSuch(id, 'live')
    const { kind, key, sessionId, source, label, speaker } = old
    const kept: MemoryInit = {
      kind,
      source,
      label,
      scope: scopeOf(old.scope),
      ...(key !== undefined && { key }),
      ...(sessionId !== undefined && { sessionId }),
      ...(speaker !== undefined && { speaker }),
    }
    const row = await remember(text, { ...kept, ...init }, id)
    if (!row) throw noSuch(id, 'live')
    return itemOf(row)
  }

  async function recall(query: string, recallOptions: RecallOptions = {}): Promise<readonly MemoryHit[]> {
    checkRecallOptions(recallOptions)
    const { limit = 8, kinds = searched, at, quarantined = 'exclude' } = recallOptions
    const states: MemoryState[] = ['live']
    if (at !== undefined) states.push('old')
    if (quarantined === 'include') states.push('quarantined')
    const shelves = await store.shelves({ scopes: reachOf(recallOptions), kinds, states })
    if (shelves.length === 0) return []
    const { queryTerms } = await language()
    const terms = queryTerms(query)
    const numbers = shelves.map(({ no }) => no)
    const time = at ?? clock.now()
    const near = async (): Promise<readonly NearestItem[]> => {
      if (!embedder) return []
      const vector = await embed(embedder, query.slice(0, 4_000))
      return store.nearest({ shelves: numbers, model: embedderName(embedder), vector, at: time, limit: 30 })
    }
    const similar = embedder && query.trim() !== '' ? await attempt(near) : []
    const ranked = await rank(store, shelves, terms, weights, similar, at)
    const valid = ranked.filter(({ item }) => item.validFrom <= time && (item.validTo ?? Infinity) > time)
    const most = Math.max(0, Math.min(limit, 100))
    const head = valid.slice(0, reranker ? Math.max(most, 50) : most)
    const rows = new Map((await store.rows(head.map(({ item }) => item.no))).map((row) => [row.no, row]))
    const hits = head.flatMap(({ item, score, why }): readonly MemoryHit[] => {
      const row = rows.get(item.no)
      return row ? [{ ...itemOf(row), score, why }] : []
    })
    return (await reordered(query, hits)).slice(0, most)
  }

  async function reordered(query: string, hits: readonly MemoryHit[]): Promise<readonly MemoryHit[]> {
    if (!reranker || hits.length < 2) return hits
    const texts = hits.map(({ text }) => text)
    const scores = await attempt(async () => rerank(reranker, query, texts))
    if (!scores) return hits
    return hits.map((hit, i) => ({ ...hit, score: scores[i] ?? 0 })).toSorted((a, b) => b.score - a.score)
  }

  async function explain(id: string): Promise<MemoryExplanation | undefined> {
    const row = await store.get(id)
    if (!row) return undefined
    const after: MemoryItem[] = []
    const seen = new Set([id])
    for (let next = row.supersededBy; next !== undefined && !seen.has(next) && after.length < 100;) {
      const found = await store.get(next)
      seen.add(next)
      if (found) after.push(itemOf(found))
      next = found?.supersededBy
    }
    return { item: itemOf(row), state: row.state, before: await beforeOf(row), after }
  }

  async function beforeOf(row: StoredItem): Promise<readonly MemoryItem[]> {
    const before: MemoryItem[] = []
    for (let ids = [row.id]; ids.length > 0 && before.length < 100;) {
      const found = (await Promise.all(ids.map((id) => store.replacedBy(id)))).flat()
      before.push(...found.map(itemOf))
      ids = found.map(({ id }) => id)
    }
    return before.toSorted((a, b) => a.validFrom - b.validFrom)
  }

  const memory: Omit<Memory, keyof Extension<unknown>> = {
    async remember(text, init) {
      checkInit(init, 'memory.remember')
      const row = await remember(text, init)
      if (row) return itemOf(row)
      throw new ProvostError('invalid-memory', 'The store did not return the stored item.', {
        hint: 'Correct the store: put() returns the item.',
      })
    },
    recall,
    update,
    supersede: (id, text) => update(id, text),

    async confirm(id, decision) {
      checkConfirmation(decision)
      const { by, label } = decision
      const row = await store.get(id)
      if (!row) throw noSuch(id, 'quarantined')
      const confirmed = await store.confirm(id, fillLabel(label, row.label), by, row.at)
      if (!confirmed) throw noSuch(id, 'quarantined')
      return itemOf(confirmed)
    },

    async forget(what) {
      checkTarget(what)
      if (typeof what === 'string') return store.remove({ id: what })
      if ('sessionId' in what) {
        const own = scopeKey({ kind: 'session', id: what.sessionId })
        return (await store.remove({ session: what.sessionId })) + (await store.remove({ scope: own }))
      }
      const scope = 'scope' in what ? what.scope : { kind: 'user' as const, id: what.principal.id }
      return store.remove({ scope: scopeKey(scope) })
    },

    async list(filter = {}) {
      checkListOptions(filter)
      const { kinds = allKinds, states = ['live', 'quarantined'], key, after, limit = 100 } = filter
      const rows = await store.list({
        scopes: reachOf(filter),
        kinds,
        states,
        ...(key !== undefined && { key }),
        ...(after !== undefined && { after }),
        limit: Math.max(0, Math.min(limit, 1_000)),
      })
      return rows.map(itemOf)
    },

    explain,
    close: () => store.close(),
  }
  const checked = withCheckedArguments(memory, 'memory', {
    remember: ['text', 'object'],
    recall: ['text', 'object?'],
    update: ['text', 'text', 'object?'],
    supersede: ['text', 'text'],
    confirm: ['text', 'object'],
    list: ['object?'],
    explain: ['text'],
  })
  return Object.assign(checked, memoryExtension(checked, options, maxChars))
}

function newItem(text: string, init: MemoryInit, maxChars: number, clock: Clock): Omit<NewItem, 'terms'> {
  const { source, kind = 'fact', principal, key, sessionId, speaker, at = clock.now() } = init
  if (text.length > maxChars) {
    throw new ProvostError('memory-too-long', `An item of ${text.length} characters is longer than ${maxChars}.`, {
      hint: 'Shorten the text, or store it as several items.',
    })
  }
  if (typeof source !== 'string') throw invalid('it has no source')
  const { validFrom = at, validTo, id = uuidv7() } = init
  for (const [what, name] of Object.entries({ id, source, key, sessionId, speaker })) {
    if (name !== undefined && !isName(name)) throw invalid(`its ${what} is not well-formed text of 512 characters`)
  }
  if (!allKinds.includes(kind)) throw invalid(`its kind ${JSON.stringify(kind)} is unknown`)
  const times = [at, validFrom, validTo ?? validFrom]
  if (!times.every((time) => Number.isSafeInteger(time))) throw invalid('its times are not whole milliseconds')
  const label = fillLabel(init.label, { ...trustedLabel, sources: [source] })
  const safe = text.toWellFormed().replaceAll('\0', '\uFFFD')
  const scope = init.scope ?? (principal ? { kind: 'user', id: principal.id } : { kind: 'shared' })
  return {
    id,
    text: safe,
    kind,
    scope: scopeKey(scope),
    state: label.integrity === 'trusted' ? 'live' : 'quarantined',
    label,
    source,
    at,
    validFrom,
    ...(validTo !== undefined && { validTo }),
    ...(key !== undefined && { key }),
    ...(sessionId !== undefined && { sessionId }),
    ...(speaker !== undefined && { speaker }),
  }
}

function reachOf({ principal, sessionId, agent, scopes }: MemoryReach): readonly string[] {
  if (scopes) return [...new Set(scopes.map(scopeKey))]
  const reach: MemoryScope[] = [{ kind: 'shared' }]
  if (principal) reach.push({ kind: 'user', id: principal.id })
  if (sessionId !== undefined) reach.push({ kind: 'session', id: sessionId })
  if (agent !== undefined) reach.push({ kind: 'agent', id: agent })
  return reach.map(scopeKey)
}

function invalid(why: string): ProvostError {
  return new ProvostError('invalid-memory', `The item cannot be stored: ${why}.`, {
    hint: 'Correct this property and store the item again.',
  })
}

function noSuch(id: string, state: string): ProvostError {
  return new ProvostError('no-such-memory', `No ${state} item has the id ${JSON.stringify(id.slice(0, 80))}.`, {
    hint: 'List the items with list(); explain() returns the items that superseded one.',
  })
}

function warn(error: unknown): void {
  process.emitWarning(error instanceof Error ? error : String(error), { type: 'ProvostMemory' })
}
