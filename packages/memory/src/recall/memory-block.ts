import { ProvostError } from '@provost/core'

/** A piece of working memory: a text of bounded size that the model always sees and may rewrite. */
export interface MemoryBlock {
  /** Letters, digits, `_` and `-`. */
  readonly name: string
  /** A description of its content, for the model. */
  readonly about: string
  /** Characters at most; default 1000. */
  readonly maxChars?: number
  /** Its scope. Default `user`, or the session if a run has no principal. The model can edit only these two. */
  readonly scope?: 'session' | 'user' | 'agent' | 'shared'
}

export const defaultBlockChars = 1_000

/** @throws ProvostError `invalid-memory` for invalid or repeated names. */
export function checkBlocks(blocks: readonly MemoryBlock[]): void {
  const names = new Set<string>()
  for (const { name } of blocks) {
    if (/^[\w-]{1,64}$/.test(name) && !names.has(name)) names.add(name)
    else {
      throw new ProvostError(
        'invalid-memory',
        `The block name ${JSON.stringify(name.slice(0, 80))} is invalid or repeated.`,
        {
          hint: 'Give each block a unique name of 1 to 64 letters, digits, _ and -.',
        },
      )
    }
  }
}
