import { changeText, displayText } from '@provost/core'

import type { Invocation } from '../command/command.ts'
import { exitCodes } from '../command/command.ts'
import { agentIn, forksIn } from '../project/agent-file.ts'
import type { OpenStore } from '../project/open-store.ts'
import { askAtTerminal } from '../terminal/question.ts'
import { argumentText } from '../terminal/waits.ts'
import { deciderOf } from './decider.ts'
import { followRun } from './follow-run.ts'
import { readSession } from './recorded-session.ts'
import { openTrace } from './run-trace.ts'
import { waitForLease } from './take-over.ts'

/** Resumes the last run of a session with the agent of a file, and shows it. */
export async function resumeSession(given: Invocation, { store }: OpenStore, file: string): Promise<number> {
  const { terminal } = given
  const { id, agent: name } = await readSession(store, given.argument('SESSION'))
  const agent = await agentIn(file, name)
  const overrides = await forksIn(file)
  const interrupt = new AbortController()
  await waitForLease(given, store, id)
  const trace = await openTrace(given)
  // Read again: another process may have resumed the run in the meantime.
  const change = await agent.changeSince((await readSession(store, id)).state, { overrides })
  if (change?.rule === 'ask') terminal.note(terminal.yellow(displayText(changeText(change), { limit: 2_000 })))
  const isAccepted = change !== undefined && given.flag('accept-changes')
  const session = await agent.resumeSession(id, {
    ...{ store, overrides },
    extensions: trace.extensions,
    ...(terminal.asks && askAtTerminal(terminal, deciderOf(given), interrupt.signal)),
  })
  const stream = session.resume(isAccepted ? { acceptChanges: change.id } : {})
  const code = await followRun(terminal, { sessionId: id, stream, interrupt, file })
  trace.show()
  return code
}

/** After a decision: resumes the run with the agent of `--agent`, or tells how to. */
export async function continueRun(given: Invocation, opened: OpenStore): Promise<number> {
  const file = given.value('agent')
  if (file !== undefined) return resumeSession(given, opened, file)
  given.terminal.note(
    'The decision is stored. A server or worker with its agent and this store continues the run. Without one:',
  )
  given.terminal.note(`  provost resume ${argumentText(given.argument('SESSION'))} FILE`)
  return exitCodes.ok
}
