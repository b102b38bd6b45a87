import { isDeepStrictEqual } from 'node:util'

import type { RecordedCall, RecordedSession } from './recorded-session.ts'

/** Returns what tools answer in a recorded session. A call answers once. */
export function replies({ turns }: RecordedSession): (name: string, input: unknown) => unknown {
  const left: RecordedCall[] = turns.flatMap(({ answers }) => answers.flatMap(({ calls = [] }) => calls))
  return (name, input) => {
    const at = left.findIndex((call) => call.name === name && isDeepStrictEqual(call.input, input))
    const [call] = at < 0 ? [] : left.splice(at, 1)
    if (!call) throw new Error(`${name} was not recorded.`)
    if (call.error !== undefined) throw new Error(call.error)
    return call.output
  }
}
