import { resolveWaits } from '@provost/agent'
import { displayText } from '@provost/core'

import type { Invocation } from '../command/command.ts'
import { openStore } from '../project/open-store.ts'
import { deciderOf } from '../session/decider.ts'
import { continueRun } from '../session/resume-session.ts'

/** `provost settle SESSION CALL OUTCOME` */
export async function settle(given: Invocation): Promise<number> {
  const { terminal } = given
  const outcome = given.argument('OUTCOME')
  const decision = outcome === 'done' || outcome === 'retry' ? outcome : 'fail'
  const opened = openStore(given, 'existing')
  const [sessionId, callId] = [given.argument('SESSION'), given.argument('CALL')]
  try {
    const by = deciderOf(given)
    await resolveWaits(opened.store, sessionId, { uncertain: [{ callId, decision, by }] })
    if (terminal.json) terminal.print(displayText({ sessionId, callId, decision, by }, { limit: Infinity }))
    else terminal.print(`Settled as ${decision}: ${displayText(callId, { limit: 300 })}`)
    return await continueRun(given, opened)
  } finally {
    await opened.store.close()
  }
}
