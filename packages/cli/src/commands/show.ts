import { sessionCost, sessionUsage } from '@provost/agent'
import { changeText, displayText } from '@provost/core'

import type { ExitCode, Invocation } from '../command/command.ts'
import { exitCodes } from '../command/command.ts'
import { agentIn, forksIn } from '../project/agent-file.ts'
import { openStore } from '../project/open-store.ts'
import type { RecordedSession } from '../session/recorded-session.ts'
import { readSession } from '../session/recorded-session.ts'
import { sessionEvents } from '../session/session-events.ts'
import { eventLines, usageText } from '../terminal/event-lines.ts'
import { argumentText, waitLines } from '../terminal/waits.ts'

/** Characters of a text, without `--full`. */
const shortText = 1_000

/** `provost show SESSION` */
export async function show(given: Invocation): Promise<ExitCode> {
  const { terminal } = given
  const { bold, dim, write } = terminal
  const { store } = openStore(given, 'existing')
  try {
    const { id, agent, entries, state, pending } = await readSession(store, given.argument('SESSION'))
    const limit = given.flag('full') ? Infinity : shortText
    if (!terminal.json) {
      const principal = state.run?.principal?.id ?? '-'
      const about = [
        `agent ${displayText(agent, { limit: 128 })}`,
        `principal ${displayText(principal, { limit: 128 })}`,
      ]
      await write(`${bold(displayText(id))}  ${[...about, `status ${state.run?.status ?? 'idle'}`].join(', ')}\n`)
    }
    for await (const event of sessionEvents(store, id, entries)) {
      if (terminal.json) await write(`${displayText(event, { limit: Infinity })}\n`)
      else {
        const indent = '  '.repeat(Math.min(event.parents.length, 8))
        const at = dim(timeText(event.at))
        for (const line of eventLines(event, { terminal, limit, texts: true })) await write(`${at}  ${indent}${line}\n`)
      }
    }
    if (terminal.json) return exitCodes.ok
    await write(`${bold('total')}  ${usageText(sessionUsage(state), sessionCost(state))}\n`)
    const waits = waitLines(id, pending)
    if (waits.length > 0) await write(`${[bold('waits'), ...waits].join('\n')}\n`)
    const file = given.value('agent')
    if (file !== undefined) await showChange(given, file, { id, agent, state })
    return exitCodes.ok
  } finally {
    await store.close()
  }
}

/** Shows what changed in the agent of a file since the last run of a session began, and what to do about it. */
async function showChange(
  { terminal: { bold, write } }: Invocation,
  file: string,
  { id, agent: name, state }: Pick<RecordedSession, 'id' | 'agent' | 'state'>,
): Promise<void> {
  const change = await (await agentIn(file, name)).changeSince(state, { overrides: await forksIn(file) })
  if (!change) return write(`${bold('changes')}  none since the last run began\n`)
  const next = {
    continue: 'The run continues with this code.',
    ask: `Resume it with: provost resume ${argumentText(id)} ${argumentText(file)} --accept-changes`,
    refuse: 'The run continues with the earlier code only.',
  }
  await write(`${bold('changes')}  ${displayText(changeText(change), { limit: 2_000 })} ${next[change.rule]}\n`)
}

/** Returns the time of an entry in UTC. A log from outside may have any number. */
function timeText(at: number): string {
  const date = new Date(at)
  return Number.isNaN(date.getTime()) ? '-' : date.toISOString().slice(0, 19).replace('T', ' ')
}
