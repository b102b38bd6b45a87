import { ProvostError } from '@provost/core'

import { callOf } from '../state/session-state.ts'
import type { RunContext } from '../types/run-context.ts'
import type { CallState } from '../types/session-state.ts'

/** How deep composites may call composites, and children may have children. */
export const deepest = 16
const longestKey = 256

/** How many composites call each other down to this one. */
export function depthOf(scope: RunContext, call: CallState): number {
  let depth = 1
  for (let at: CallState | undefined = call; at?.parentCallId !== undefined; depth++) {
    at = scope.state.run && callOf(scope.state.run, at.parentCallId)
  }
  return depth
}

/**
 * A key as a part of an id: without secrets, as ids are in logs.
 *
 * @throws ProvostError `invalid-key`
 */
export function keyOf(key: unknown, { secrets }: Pick<RunContext, 'secrets'>): string {
  if (typeof key === 'string' && key.length > 0 && key.length <= longestKey && key.isWellFormed())
    return encodeURIComponent(secrets.scrubber.scrub(key))
  throw new ProvostError('invalid-key', `A key of a composite is a text of 1 to ${longestKey} characters.`, {
    hint: 'Number what you do, or name it.',
  })
}

/** A key stands for one thing alone. */
export function diverged(toolName: string, key: string): ProvostError {
  return new ProvostError(
    'replay-diverged',
    `${toolName} used the key ${key} with another tool or other input before.`,
    {
      hint: 'Give each act of a composite a key of its own, and let nothing but its input and its answers decide what it does.',
    },
  )
}

/** Composites that call each other need an end. */
export function tooDeep(toolName: string): ProvostError {
  return new ProvostError('too-deep', `${toolName} stands ${deepest} deep, and may call or start nothing itself.`, {
    hint: 'Composites that call each other, and agents that are tools of each other, need an end.',
  })
}
