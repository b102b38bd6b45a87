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
