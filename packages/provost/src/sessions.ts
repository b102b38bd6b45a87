// Sessions as data: export, import, fork, attribution, effects.
export {
  attributionOf,
  exportSession,
  forkSession,
  fromMessageStore,
  importSession,
  listEffects,
  sanitizeAnnotations,
} from '@provost/sessions'
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
  TextPieces,
} from '@provost/sessions'
