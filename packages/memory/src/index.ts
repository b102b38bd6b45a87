export { compaction } from './compaction/compaction.ts'
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
} from './compaction/compaction-options.ts'
export type { Embedder, Reranker } from './items/embedding.ts'
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
} from './items/item.ts'
export { createMemory } from './recall/memory.ts'
export type {
  Forgettable,
  ListOptions,
  Memory,
  MemoryExplanation,
  MemoryOptions,
  MemoryReach,
  RecallOptions,
} from './recall/memory-options.ts'
export type { MemoryBlock } from './recall/memory-block.ts'
export type { MemoryRunOptions, MemoryScopes, ReminderOptions } from './recall/memory-options.ts'
export type {
  Candidate,
  ItemFilter,
  MemoryStore,
  NearestItem,
  NearestQuery,
  Postings,
  Shelf,
  ShelfFilter,
  VectorEngine,
} from './items/memory-store.ts'
export { postgresMemory } from './store/postgres-memory.ts'
export type { PostgresMemoryOptions } from './store/postgres-memory.ts'
export type { RankWeights } from './items/rank.ts'
export { sqliteMemory } from './store/sqlite-memory.ts'
export type { SqliteMemoryOptions } from './store/sqlite-memory.ts'
export type { VectorMode } from './items/vector.ts'
