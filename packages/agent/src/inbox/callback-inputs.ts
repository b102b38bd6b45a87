import type { Input } from '@provost/core'
import { ProvostError } from '@provost/core'

import { callbackFailure } from '../control/failure-source.ts'
import type { QueuedInput } from '../types/inputs.ts'

/**
 * Returns the inputs that a callback of the caller gives.
 *
 * @param name of the callback.
 * @throws ProvostError `callback-failed` where it throws, `invalid-input` where the value is not an array.
 */
export async function callbackInputs(callback: () => unknown, name: string): Promise<readonly QueuedInput[]> {
  try {
    return inputsOf(await callback(), name)
  } catch (thrown) {
    throw callbackFailure(thrown, name)
  }
}

function inputsOf(inputs: unknown, name: string): readonly QueuedInput[] {
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
