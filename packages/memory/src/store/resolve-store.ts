import type { SessionStore } from '@provost/core'
import { assertNever, ProvostError } from '@provost/core'

import type { MemoryStore } from '../items/memory-store.ts'
import { postgresMemory } from './postgres-memory.ts'
import { sqliteMemory } from './sqlite-memory.ts'

/** Returns the given memory store, or a new one next to the given session store. */
export function memoryPlace(store: MemoryStore | SessionStore): MemoryStore {
  if ('postings' in store) return store
  const place = store.place?.()
  switch (place?.kind) {
    case 'process':
      return sqliteMemory(':memory:')
    case 'file':
      return sqliteMemory(`${place.path}.memory`)
    case 'folder':
      return sqliteMemory(`${place.path}/memory.db`)
    case 'postgres':
      return postgresMemory(place.url, { schema: `${place.schema}_memory` })
    case undefined:
      throw new ProvostError('memory-place', 'This session store has no known location.', {
        hint: `Give the memory a store of its own: sqliteMemory('memory.db') or postgresMemory(url).`,
      })
    default:
      return assertNever(place)
  }
}
