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
