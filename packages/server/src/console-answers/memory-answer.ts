import type { ConsoleLabel } from './console-answer.ts'

/** An item of a memory. */
export interface MemoryRow {
  /** Name of the memory in `memories` of the server. */
  memory: string
  id: string
  /** `[withheld: secret]` where you may not read it. */
  text: string
  /** `block`, `episode`, `fact` or `note`. */
  kind: string
  /** `user`, `session`, `agent` or `shared`. */
  scope: { kind: string; id?: string | undefined }
  label: ConsoleLabel
  source: string
  at: number
  /** `live` is recalled, `quarantined` waits for a confirmation, `old` was superseded or is no longer valid. */
  state: 'live' | 'quarantined' | 'old'
  /** When it stops being valid, or stopped. */
  validTo?: number | undefined
  key?: string | undefined
  replaces?: string | undefined
  supersededBy?: string | undefined
  confirmedBy?: string | undefined
  sessionId?: string | undefined
  speaker?: string | undefined
}

/** Answer of `GET /api/console/session/{id}/memories`. */
export interface MemoriesAnswer {
  /** Names of the memories of the server. */
  memories: string[]
  items: MemoryRow[]
  /** A memory has more items than the answer. */
  more: boolean
}

/** Answer of `POST /api/console/session/{id}/memories/forget`. */
export interface ForgetAnswer {
  forgotten: number
}
