import { setTimeout as sleep } from 'node:timers/promises'

import { type Agent, type OnApproval, ProvostError, type Session, type SessionStore } from 'provost'

import { leaseMs, mailOf } from './agent.ts'
import type { Desk } from './desk.ts'
import { DeskError } from './fault.ts'

/** A session with an unfinished run: it waits for a decision or to be told what became of a call, or the desk was stopped, died or failed. */
export interface OpenSession {
  /** The name of its mail. */
  readonly mail: string
  readonly why: 'waiting' | 'unknown' | 'stopped' | 'failed'
  readonly session: Session<string, Desk>
}

/** The store of sessions, and what their runs work with. */
export interface SessionDesk {
  readonly agent: Agent<string, Desk>
  readonly store: SessionStore
  readonly desk: Desk
  readonly onApproval: OnApproval | undefined
}

/** Lists the open sessions of a store, in order of their ids: the oldest first. */
export async function openSessions(at: SessionDesk): Promise<readonly OpenSession[]> {
  const open: OpenSession[] = []
  for await (const { id } of at.store.list()) {
    const session = await look(at, id)
    if (session) open.push(session)
  }
  return open
}

/**
 * Returns one open session once its lease is free. A killed desk holds the lease for some seconds.
 *
 * @param waiting called when the lease is held.
 * @throws DeskError of kind `usage` when the id is unknown, the session is finished, or another desk works on it.
 */
export async function openSession(at: SessionDesk, id: string, waiting: () => void): Promise<OpenSession> {
  if (!(await look(at, id)))
    throw new DeskError('usage', `No session ${JSON.stringify(id)} is open. List the open sessions with --sessions.`)
  for (let ms = 0; ms <= leaseMs * 2; ms += 100) {
    const lease = await at.store.lease(id, 'a look', 1_000)
    if (lease !== 'busy') {
      await at.store.release(id, lease.fence)
      const session = await look(at, id)
      if (session) return session
      break
    }
    if (ms === 0) waiting()
    await sleep(100)
  }
  throw new DeskError('usage', `Another desk is at work on session ${id}.`)
}

/** Whether a session was started with `--code-mode`: only the same tools can resume it. */
export async function isScripted(store: SessionStore, id: string): Promise<boolean> {
  for await (const entry of store.read(id))
    if (entry.type === 'run' && entry.op === 'started') return entry.manifest.tools.includes('code_execute')
  return false
}

/** Everything known about a session is in its log. */
async function look({ agent, desk, onApproval }: SessionDesk, id: string): Promise<OpenSession | undefined> {
  const session = await agent.resumeSession(id, { context: desk, onApproval }).catch(unknown)
  const task = session?.messages.find(({ role }) => role === 'user')
  const mail = task && mailOf(task)
  const why = session && whyOpen(session)
  return session && mail !== undefined && why !== undefined ? { mail, why, session } : undefined
}

function unknown(error: unknown): undefined {
  if (!(error instanceof ProvostError) || error.code !== 'unknown-session') throw error
}

function whyOpen({ status, pending, messages }: Session<string, Desk>): OpenSession['why'] | undefined {
  if (status === 'failed') return 'failed'
  if (status === 'suspended') {
    if (pending.approvals.length > 0) return 'waiting'
    return pending.uncertain.length > 0 ? 'unknown' : 'stopped'
  }
  return messages.at(-1)?.role === 'aborted' ? 'stopped' : undefined
}
