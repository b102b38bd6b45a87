import type { Input } from '@provost/core'
import { ProvostError } from '@provost/core'

import type { QueuedInput } from '../types/inputs.ts'

/**
 * Returns the inputs that a callback of the caller gave.
 *
 * @param name of the callback.
 * @throws ProvostError `invalid-input` where the value is not an array.
 */
export function callbackInputs(inputs: unknown, name: string): readonly QueuedInput[] {
  if (inputs === undefined || inputs === null) return []
  if (isInputs(inputs)) return inputs.map((input) => ({ input }))
  throw new ProvostError('invalid-input', `${name} returned a ${typeof inputs}, not a list of inputs.`, {
    hint: `Return a list from ${name}: [] for no input, ['text'] for one message.`,
  })
}

/** The items are validated where they enter the run. */
function isInputs(value: unknown): value is readonly Input[] {
  return Array.isArray(value)
}
