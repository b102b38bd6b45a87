import { userInfo } from 'node:os'

import type { Invocation } from '../command/command.ts'

/** Returns who decides: the name that is given, otherwise the user of the operating system. */
export function deciderOf(given: Invocation): string {
  const name = given.value('by')
  if (name !== undefined) return name
  try {
    return userInfo().username
  } catch {
    // A container may have a user without a name.
    return 'cli'
  }
}
