import { displayText, ProvostError } from '@provost/core'
import { replaySession } from '@provost/replay'

import type { ExitCode, Invocation } from '../command/command.ts'
import { exitCodes } from '../command/command.ts'
import { agentIn } from '../project/agent-file.ts'
import { openStore } from '../project/open-store.ts'
import { readSession } from '../session/recorded-session.ts'

/** `provost replay SESSION FILE` */
export async function replay(given: Invocation): Promise<ExitCode> {
  const { terminal } = given
  const { store } = openStore(given, 'existing')
  try {
    const { id, agent: name, entries } = await readSession(store, given.argument('SESSION'))
    const agent = await agentIn(given.argument('FILE'), name)
    const difference = await replaySession(agent, entries)
    if (difference) {
      const { offset, expected, got } = difference
      if (terminal.json) terminal.print(displayText({ sessionId: id, same: false, difference }, { limit: Infinity }))
      throw new ProvostError(
        'replay-differs',
        `Entry ${offset} of session ${displayText(id, { limit: 200 })} would be another one.`,
        {
          hint: `The log has ${displayText(expected, { limit: 500 })}; today: ${displayText(got, { limit: 500 })}`,
        },
      )
    }
    if (terminal.json)
      terminal.print(displayText({ sessionId: id, same: true, entries: entries.length }, { limit: Infinity }))
    else terminal.print(`Same: ${entries.length} entries.`)
    return exitCodes.ok
  } finally {
    await store.close()
  }
}
