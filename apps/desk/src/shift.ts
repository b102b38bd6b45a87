import type { Agent, AgentEvent, AgentStream, OnApproval } from 'provost'

import { taskFor } from './agent.ts'
import type { Desk } from './desk.ts'
import { DeskError, reasonOf } from './fault.ts'
import type { Mail } from './mail.ts'
import { customerOf } from './memory.ts'
import type { OpenSession } from './sessions.ts'
import { createTallier, type Tallier, type Tally } from './tally.ts'

/** Observes the desk's work. */
export interface Watcher {
  heading(mail: Mail): void
  event(event: AgentEvent): void
  broken(mail: string, reason: string): void
}

/**
 * Handles mails in sequence, each in its own run and session: the text of one customer never enters the history of
 * another. A mail that cannot be read, or whose run fails, is counted, and the next one follows.
 */
export async function workThrough(
  names: readonly string[],
  agent: Agent<string, Desk>,
  desk: Desk,
  watcher: Watcher,
  signal: AbortSignal,
  onApproval?: OnApproval,
): Promise<Tally> {
  const tallier = createTallier()
  for (const name of names) {
    if (signal.aborted) break
    try {
      const mail = await desk.mailbox.read(name)
      tallier.begin(mail)
      watcher.heading(mail)
      await follow(
        agent.stream(taskFor(name), { context: desk, principal: customerOf(mail, desk), signal, onApproval }),
        tallier,
        watcher,
      )
    } catch (error) {
      // A run reports its failures as events; only failures outside of runs are thrown.
      if (!(error instanceof DeskError) || error.kind !== 'mail') throw error
      tallier.fail(name, reasonOf(error))
      watcher.broken(name, reasonOf(error))
    }
  }
  return tallier.tally
}

/**
 * Resumes a session from its log, whichever process started it.
 *
 * @param decision applied to everything that the session waits for.
 */
export async function goOn(
  { session, mail: name }: OpenSession,
  decision: 'approve' | 'deny' | undefined,
  desk: Desk,
  watcher: Watcher,
  signal: AbortSignal,
): Promise<Tally> {
  const tallier = createTallier()
  const mail = await desk.mailbox.read(name)
  tallier.begin(mail)
  watcher.heading(mail)
  const approvals = decision
    ? session.pending.approvals.map(({ id }) => ({ id, decision, by: 'the command line' }))
    : []
  const abort = (): void => void session.abort()
  signal.addEventListener('abort', abort, { once: true })
  await follow(session.resume({ approvals }), tallier, watcher)
  signal.removeEventListener('abort', abort)
  return tallier.tally
}

async function follow(stream: AgentStream, tallier: Tallier, watcher: Watcher): Promise<void> {
  for await (const event of stream) {
    tallier.add(event)
    watcher.event(event)
  }
}
