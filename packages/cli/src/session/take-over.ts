import { setTimeout as sleep } from 'node:timers/promises'

import type { SessionStore } from '@provost/core'
import { displayText, SessionBusyError } from '@provost/core'

import type { Invocation } from '../command/command.ts'

const pollMs = 100

/**
 * Waits until no living process holds a session: until its run is over, or the lease of a dead process has expired.
 *
 * @throws SessionBusyError after `--wait` seconds
 */
export async function waitForLease(given: Invocation, store: SessionStore, id: string): Promise<void> {
  const seconds = given.number('wait') ?? 60
  const end = Date.now() + seconds * 1_000
  for (let first = true; ; first = false) {
    const { holder } = await store.leaseState(id)
    if (holder !== 'alive') return
    if (Date.now() >= end) throw new SessionBusyError(displayText(id, { limit: 200 }))
    if (first)
      given.terminal.note(
        given.terminal.dim(`Another process has the session, or died with it: waiting for up to ${seconds} s.`),
      )
    await sleep(Math.min(pollMs, Math.max(1, end - Date.now())))
  }
}
