// Sessions and memory in a SQLite file.
export { sqliteStore } from '@provost/sessions'
export type { SqliteStoreOptions } from '@provost/sessions'
export { sqliteMemory } from '@provost/memory'
export type { SqliteMemoryOptions } from '@provost/memory'
