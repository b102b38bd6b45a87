import { hash } from 'node:crypto'

import type { EffectMark } from '@provost/core'

import type { RunContext } from '../types/run-context.ts'
import type { CallState } from '../types/session-state.ts'

/** Returns the idempotency key of a call, the same for every attempt at its effect. */
export function idempotencyKeyOf(
  { id }: Pick<RunContext, 'id'>,
  { part, effect }: { readonly part: CallState['part']; readonly effect?: EffectMark | undefined },
): string {
  return effect?.idempotencyKey ?? hash('sha256', `${id}\n${part.callId}`)
}
