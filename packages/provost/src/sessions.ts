// Sessions as data: export, import, fork, attribution, effects.
export {
  attributionOf,
  exportSession,
  folderArchive,
  forkSession,
  fromMessageStore,
  importSession,
  listEffects,
  pruneSessions,
  sanitizeAnnotations,
} from '@provost/sessions'
export type { ForkOffers, Overrides } from '@provost/core'
export type {
  Attribution,
  EffectFilter,
  EffectRecord,
  ExportOptions,
  Imported,
  ImportOptions,
  Fork,
  ForkOptions,
  MessageStore,
  PrunableStatus,
  PruneOptions,
  PruneReport,
  SessionArchive,
  TextPieces,
} from '@provost/sessions'
