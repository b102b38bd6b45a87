import { v7 } from 'uuid'

/** A time-ordered UUID: the id of a session or a root run. Every other id comes from a position in the log. */
export function uuidv7(): string {
  return v7()
}

/**
 * The id of something at a position of a run: `run/step/kind/key`. The same position gives the same id, which is
 * what makes appends idempotent.
 */
export function positionId(runId: string, step: number, kind: string, key: string | number): string {
  return `${runId}/${step}/${kind}/${key}`
}
