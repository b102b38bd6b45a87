import { ProvostError } from '@provost/core'

/** A piece of working memory: a text of bounded size that the model always sees and may rewrite. */
export interface MemoryBlock {
  /** Letters, digits, `_` and `-`. */
  readonly name: string
  /** What belongs into it, for the model. */
  readonly about: string
  /** Characters at most; default 1000. */
  readonly maxChars?: number
  /** Whose it is; default `user`, or the session where a run has no principal. Others than these the model cannot edit. */
  readonly scope?: 'session' | 'user' | 'agent' | 'shared'
}

export const defaultBlockChars = 1_000

/** @throws ProvostError `invalid-memory` for names that cannot be told apart. */
export function checkBlocks(blocks: readonly MemoryBlock[]): void {
  const names = new Set<string>()
  for (const { name } of blocks) {
    if (/^[\w-]{1,64}$/.test(name) && !names.has(name)) names.add(name)
    else {
      throw new ProvostError('invalid-memory', `There cannot be a block named ${JSON.stringify(name.slice(0, 80))}.`, {
        hint: 'Give each block a name of its own, of letters, digits, _ and -.',
      })
    }
  }
}
