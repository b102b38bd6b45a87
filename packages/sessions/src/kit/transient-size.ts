import type { TransientPiece } from '@provost/core'
import { transientLimits } from '@provost/core'

/** The size of the transient items of a log. */
export interface TransientSize {
  /** Number of items. */
  readonly count: number
  /** UTF-16 code units of their bodies. */
  readonly length: number
}

/**
 * Returns the size of a log's transient items with one more; undefined where the log is full. The store then drops this
 * item, and all later ones of the same `keep` that follow it in its log.
 *
 * @example
 * const larger = addTransient(sizes.get(piece.log) ?? { count: 0, length: 0 }, piece)
 * if (!larger) full.add(piece.log)
 */
export function addTransient({ count, length }: TransientSize, { body }: TransientPiece): TransientSize | undefined {
  const larger = { count: count + 1, length: length + body.length }
  return larger.count > transientLimits.pieces || larger.length > transientLimits.length ? undefined : larger
}
