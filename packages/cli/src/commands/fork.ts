import { displayText } from '@provost/core'
import { forkSession } from '@provost/sessions'

import type { ExitCode, Invocation } from '../command/command.ts'
import { exitCodes } from '../command/command.ts'
import { openStore } from '../project/open-store.ts'

/** `provost fork SESSION` */
export async function fork(given: Invocation): Promise<ExitCode> {
  const { terminal } = given
  const at = given.value('at')
  const { store } = openStore(given, 'existing')
  try {
    const forked = await forkSession(store, given.argument('SESSION'), {
      ...(at !== undefined && { at: Number(at), unfinished: given.flag('continue') ? 'continue' : 'end' }),
    })
    terminal.print(displayText(terminal.json ? forked : forked.sessionId, { limit: Infinity }))
    return exitCodes.ok
  } finally {
    await store.close()
  }
}
