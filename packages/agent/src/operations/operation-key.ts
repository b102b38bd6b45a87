import { ProvostError } from '@provost/core'

import { callOf } from '../state/session-state.ts'
import type { RunContext } from '../types/run-context.ts'
import type { CallState } from '../types/session-state.ts'

/** Maximum depth of composites that call composites, and of children of children. */
export const maxCompositeDepth = 16
const longestKey = 256

/** Returns the nesting depth of a composite. */
export function depthOf(ctx: RunContext, call: CallState): number {
  let depth = 1
  for (let at: CallState | undefined = call; at?.parentCallId !== undefined; depth++) {
    at = ctx.state.run && callOf(ctx.state.run, at.parentCallId)
  }
  return depth
}

/**
 * Returns a key as a part of an id, without secrets, because logs contain ids.
 *
 * @throws ProvostError `invalid-key`
 */
export function keyOf(key: unknown, { secrets }: Pick<RunContext, 'secrets'>): string {
  if (typeof key === 'string' && key.length > 0 && key.length <= longestKey && key.isWellFormed())
    return encodeURIComponent(secrets.scrubber.scrub(key))
  throw new ProvostError(
    'invalid-key',
    `The key of a composite operation must be a text of 1 to ${longestKey} characters.`,
    {
      hint: 'Number or name your operations.',
    },
  )
}

/** Returns the error for a key that was used for two operations. */
export function diverged(toolName: string, key: string): ProvostError {
  return new ProvostError('replay-diverged', `${toolName} used the key ${key} before, with another tool or input.`, {
    hint: 'Give each operation a unique key. Derive operations only from the input and the answers of the composite.',
  })
}

/** Returns the error for composites that are nested too deep. */
export function tooDeep(toolName: string): ProvostError {
  return new ProvostError(
    'too-deep',
    `${toolName} is nested ${maxCompositeDepth} levels deep and may not call or start anything.`,
    {
      hint: 'End the recursion of composites that call each other, and of agents that are tools of each other.',
    },
  )
}
