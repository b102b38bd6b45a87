import type { Grant } from '../messages/usage.ts'
import { isRecord } from '../values/json.ts'
import type { Label } from '../values/label.ts'

/** A run above a child, and the agent that was active in it. */
export interface PartLevel {
  /** The agent that the run began with. */
  readonly agent: string
  /** The agent that it was handed over to, where it was. */
  readonly active?: string
  /** The targets of its handoffs. */
  readonly path: readonly string[]
  /** How the run itself received secrets of the run above it; absent for a root. */
  readonly lent?: LentSecrets
}

/** Which secrets of its parent a child may use, by name: see `SpawnOptions`. */
export interface LentSecrets {
  readonly secrets?: 'allowlist' | 'explicit' | 'isolated'
  readonly inheritSecrets?: readonly string[]
}

/**
 * What the session of a child that may run on any worker has of the run that spawned it. The creation entry of the session
 * holds it as data, so that each process can govern the child as its parent would.
 */
export interface PartOrigin {
  /** The session of the run that spawned it. */
  readonly parent: string
  /** The id of the one run of the session: the key of the spawn. */
  readonly runId: string
  /** Run ids from the run above up to the root. */
  readonly parents: readonly string[]
  /** The session that effect keys are unique in. */
  readonly effectSession: string
  /** The runs above, from the root down. */
  readonly levels: readonly PartLevel[]
  /** Names of the tree-scoped extensions that govern it. */
  readonly extensions: readonly string[]
  readonly grant: Grant
  /** Label of its input. */
  readonly label: Label
  readonly lent: LentSecrets
}

/** Returns whether a value of a log is the origin of a part. */
export function isPartOrigin(value: unknown): value is PartOrigin {
  return (
    isRecord(value) &&
    typeof value['parent'] === 'string' &&
    typeof value['runId'] === 'string' &&
    typeof value['effectSession'] === 'string' &&
    [value['parents'], value['levels'], value['extensions']].every((list) => Array.isArray(list)) &&
    [value['grant'], value['label'], value['lent']].every(isRecord)
  )
}
