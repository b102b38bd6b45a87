import type { Agent, AgentEvent, OnApproval } from 'provost'

import { taskFor } from './agent.ts'
import type { Desk } from './desk.ts'
import { DeskError, reasonOf } from './fault.ts'
import type { Mail } from './mail.ts'
import { createTallier, type Tally } from './tally.ts'

/** Who watches the desk work. */
export interface Watcher {
  heading(mail: Mail): void
  event(event: AgentEvent): void
  broken(mail: string, reason: string): void
}

/** The desk works alone: what a colleague would have to agree to does not happen. */
const nobody: OnApproval = () => ({
  decision: 'deny',
  by: 'the desk',
  reason: 'A colleague has to agree to this, and none is there. Close the ticket as escalated.',
})

/**
 * Handles mails one after the other, each in a run and a session of its own: what one customer writes never stands in
 * the history of another's. A mail that cannot be read or whose run fails is counted, and the next one follows.
 */
export async function workThrough(
  names: readonly string[],
  agent: Agent<string, Desk>,
  desk: Desk,
  watcher: Watcher,
  signal: AbortSignal,
): Promise<Tally> {
  const tallier = createTallier()
  for (const name of names) {
    if (signal.aborted) break
    try {
      const mail = await desk.mailbox.read(name)
      tallier.begin(mail)
      watcher.heading(mail)
      for await (const event of agent.stream(taskFor(name), { context: desk, signal, onApproval: nobody })) {
        tallier.add(event)
        watcher.event(event)
      }
    } catch (error) {
      // A run reports its failures as events; only what lies outside of runs is thrown.
      if (!(error instanceof DeskError) || error.kind !== 'mail') throw error
      tallier.fail(name, reasonOf(error))
      watcher.broken(name, reasonOf(error))
    }
  }
  return tallier.tally
}
