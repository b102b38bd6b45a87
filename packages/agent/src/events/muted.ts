import type { EmitDurable } from '../types/log.ts'

/** Emits nothing; expensive payloads are not built for it. */
export const muted: EmitDurable = Object.assign(() => {}, { streamed: () => {} })
