import type { Session } from '@provost/agent'
import { ProvostError } from '@provost/core'

import type { Invocation } from '../command/command.ts'
import type { AnyAgent } from '../project/agent-file.ts'
import { agentIn } from '../project/agent-file.ts'
import { openStore } from '../project/open-store.ts'
import { inputOf } from '../project/standard-input.ts'
import { deciderOf } from '../session/decider.ts'
import { followRun } from '../session/follow-run.ts'
import { openTrace } from '../session/run-trace.ts'
import { waitForLease } from '../session/take-over.ts'
import { askAtTerminal } from '../terminal/question.ts'

/** `provost run FILE INPUT` */
export async function run(given: Invocation): Promise<number> {
  const { terminal } = given
  const file = given.argument('FILE')
  const agent = await agentIn(file)
  const input = await inputOf(given.argument('INPUT'))
  const { store } = openStore(given, 'create')
  const interrupt = new AbortController()
  const trace = await openTrace(given)
  const options = {
    store,
    extensions: trace.extensions,
    ...(terminal.asks && askAtTerminal(terminal, deciderOf(given), interrupt.signal)),
  }
  try {
    const id = given.value('session')
    if (id !== undefined) await waitForLease(given, store, id)
    const session = await sessionOf(agent, id, options)
    const stream = session.stream(input)
    const code = await followRun(terminal, { sessionId: session.id, stream, interrupt, file })
    trace.show()
    return code
  } finally {
    await store.close()
  }
}

/** Continues a session, or creates it. Its principal is that of a server without `authenticate`, so that both reach it. */
async function sessionOf(
  agent: AnyAgent,
  id: string | undefined,
  options: NonNullable<Parameters<AnyAgent['resumeSession']>[1]>,
): Promise<Session> {
  if (id !== undefined) {
    try {
      return await agent.resumeSession(id, options)
    } catch (thrown) {
      if (!isUnknown(thrown)) throw thrown
    }
  }
  return agent.createSession({ ...options, principal: { id: 'local' }, ...(id !== undefined && { id }) })
}

/** The agent may come from another copy of the package. */
function isUnknown(thrown: unknown): boolean {
  return (
    (thrown instanceof ProvostError || thrown instanceof Error) && 'code' in thrown && thrown.code === 'unknown-session'
  )
}
