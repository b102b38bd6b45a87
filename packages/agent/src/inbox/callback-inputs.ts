import type { Input } from '@provost/core'
import { ProvostError } from '@provost/core'

import type { QueuedInput } from '../types/inputs.ts'

/**
 * What a callback of the caller's says to the run.
 *
 * @param name of the callback.
 * @throws ProvostError `invalid-input` where it is no list.
 */
export function callbackInputs(inputs: unknown, name: string): readonly QueuedInput[] {
  if (inputs === undefined || inputs === null) return []
  if (isInputs(inputs)) return inputs.map((input) => ({ input }))
  throw new ProvostError('invalid-input', `${name} gave a ${typeof inputs}, not a list of inputs.`, {
    hint: `Return a list from ${name}: [] for nothing, ['text'] for one message.`,
  })
}

/** What is in the list is looked at where it enters. */
function isInputs(value: unknown): value is readonly Input[] {
  return Array.isArray(value)
}
