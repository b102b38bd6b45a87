// Sessions and memory in PostgreSQL. Needs the packages pg and kysely.
export { postgresStore } from '@provost/sessions'
export type { PostgresStoreOptions } from '@provost/sessions'
export { postgresMemory } from '@provost/memory'
export type { PostgresMemoryOptions } from '@provost/memory'
