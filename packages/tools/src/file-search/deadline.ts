import { setImmediate } from 'node:timers/promises'
import vm from 'node:vm'

import { isRecord, ProvostError } from '@provost/core'

let current: (() => unknown) | undefined
let context: vm.Context | undefined
const script = new vm.Script('run()')

/**
 * Runs `work` and cuts it off after `ms`, also in the middle of a regular expression that backtracks without end.
 * Nothing of `work` runs after the cut, not even `finally`: it must not hold anything.
 *
 * @throws ProvostError `pattern-too-slow`.
 */
export function withDeadline<T>(ms: number, work: () => T): T {
  context ??= vm.createContext({ run: () => current?.() })
  let result: { readonly value: T } | undefined
  current = () => {
    result = { value: work() }
  }
  try {
    script.runInContext(context, { timeout: ms })
  } catch (cause) {
    // Made in the other realm: it is no instance of this one's Error.
    if (!isRecord(cause) || cause['code'] !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw cause
  } finally {
    current = undefined
  }
  if (result) return result.value
  throw new ProvostError('pattern-too-slow', `The pattern took more than ${ms} ms on a few files.`, {
    hint: 'Simplify it: no repetition within a repetition, such as (a+)+.',
  })
}

/** Milliseconds that a few items may take: so long the process does nothing else. */
export const itemsMs: number = 150
/** Items that are looked at without a pause. */
const together = 64

/**
 * Does work for a few items at a time and lets others have their turn in between.
 *
 * @throws ProvostError `pattern-too-slow` where a few items take more than {@link itemsMs}.
 */
export async function inTurns<T, R>(
  items: readonly T[],
  work: (some: readonly T[]) => readonly R[],
): Promise<readonly R[]> {
  const made: R[] = []
  for (let at = 0; at < items.length; at += together) {
    if (at > 0) await setImmediate()
    made.push(...withDeadline(itemsMs, () => work(items.slice(at, at + together))))
  }
  return made
}
