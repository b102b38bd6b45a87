export { compaction } from './compaction.ts'
export type {
  AfterCompaction,
  Compacted,
  CompactionInput,
  CompactionOptions,
  CustomStrategy,
  Lines,
  Strategy,
  Summarizer,
  SummaryRequest,
} from './compaction-options.ts'
export type { Embedder, Reranker } from './embedding.ts'
export type {
  MemoryHit,
  MemoryInit,
  MemoryItem,
  MemoryKind,
  MemoryReason,
  MemoryScope,
  MemoryState,
  NewItem,
  StoredItem,
} from './item.ts'
export { createMemory } from './memory.ts'
export type {
  Forgettable,
  ListOptions,
  Memory,
  MemoryExplanation,
  MemoryOptions,
  MemoryReach,
  RecallOptions,
} from './memory.ts'
export type { MemoryBlock } from './memory-block.ts'
export type { MemoryRunOptions, MemoryScopes, ReminderOptions } from './memory-extension.ts'
export type {
  Candidate,
  ItemFilter,
  MemoryStore,
  Near,
  NearestQuery,
  Postings,
  Shelf,
  ShelfFilter,
  VectorEngine,
} from './memory-store.ts'
export { postgresMemory } from './postgres-memory.ts'
export type { PostgresMemoryOptions } from './postgres-memory.ts'
export type { RankWeights } from './rank.ts'
export { sqliteMemory } from './sqlite-memory.ts'
export type { SqliteMemoryOptions } from './sqlite-memory.ts'
export type { VectorMode } from './vector.ts'
