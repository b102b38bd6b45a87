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
    // The error comes from another realm: it is not an instance of this one's Error.
    if (!isRecord(cause) || cause['code'] !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw cause
  } finally {
    current = undefined
  }
  if (result) return result.value
  throw new ProvostError('pattern-too-slow', `The pattern took more than ${ms} ms on a few files.`, {
    hint: 'Simplify it: no repetition within a repetition, such as (a+)+.',
  })
}

/** Milliseconds that a few items may take, during which the process does nothing else. */
export const itemsMs: number = 150
/** Items between two checks of the time. */
const together = 64

/**
 * Processes a few items at a time and yields to other work in between.
 *
 * @throws ProvostError `pattern-too-slow` where a few items take more than {@link itemsMs}.
 */
export async function runPaced<T, R>(
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
