import type { Overrides } from '@provost/core'
import { displayText } from '@provost/core'
import { forkSession } from '@provost/sessions'

import type { ExitCode, Invocation } from '../command/command.ts'
import { exitCodes } from '../command/command.ts'
import { openStore } from '../project/open-store.ts'

/** `provost fork SESSION` */
export async function fork(given: Invocation): Promise<ExitCode> {
  const { terminal } = given
  const at = given.value('at')
  const [policy, prompt, promptText] = ['policy', 'prompt', 'prompt-text'].map((name) => given.value(name))
  const overrides: Overrides = {
    ...(policy !== undefined && { policy }),
    ...(prompt !== undefined && { prompt }),
    ...(promptText !== undefined && { promptText }),
  }
  const { store } = openStore(given, 'existing')
  try {
    const forked = await forkSession(store, given.argument('SESSION'), {
      ...(Object.keys(overrides).length > 0 && { overrides }),
      ...(at !== undefined && { at: Number(at), unfinished: given.flag('continue') ? 'continue' : 'end' }),
    })
    terminal.print(displayText(terminal.json ? forked : forked.sessionId, { limit: Infinity }))
    return exitCodes.ok
  } finally {
    await store.close()
  }
}
