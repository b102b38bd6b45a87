import type { Delivery, SessionStore } from '@provost/core'
import { isRecord } from '@provost/core'

import { inputIn, modeOf, sendToken } from '../messages/child-message.ts'
import type { Inbox, InboxCursor, PendingInputs } from '../types/inputs.ts'
import type { SessionState } from '../types/session-state.ts'
import type { AbortOptions } from '../types/stream.ts'
import { notify } from './pending-inputs.ts'

/** What an inbox belongs to. */
export interface InboxOptions {
  readonly store: SessionStore
  readonly sessionId: string
  readonly runId: string
  readonly state: SessionState
  readonly pendingInputs: PendingInputs
  readonly cursor: InboxCursor
  /** Called when another process aborts the run. */
  abort(token: string, options: AbortOptions): void
  /** Called when the store stops reporting changes. */
  failed(thrown: unknown): void
}

/** Prefix of the tokens of aborts. */
export const abortToken = 'abort/'

/** Returns a cursor at the beginning of an inbox. */
export function inboxCursor(): InboxCursor {
  return { after: '', ownTokens: new Set() }
}

/** Opens the inbox for a run. */
export function openInboxReader(options: InboxOptions): Inbox {
  const { store, sessionId, cursor } = options
  let reading: Promise<void> | undefined
  let next: Promise<void> | undefined

  async function read(): Promise<void> {
    for await (const delivery of store.inbox(sessionId, cursor.after)) {
      cursor.after = delivery.id
      take(options, delivery)
    }
  }

  function begin(): Promise<void> {
    const done = read().finally(() => (reading = undefined))
    reading = done
    return done
  }

  function sync(): Promise<void> {
    if (!reading) return begin()
    // The current read may miss a later delivery. Callers that arrive meanwhile share the next read.
    next ??= reading.then(
      () => ((next = undefined), begin()),
      () => ((next = undefined), begin()),
    )
    return next
  }

  return {
    sync,
    // The caller of `sync` receives the error.
    arriving: () => (next ?? reading)?.catch(() => {}),
    follow() {
      const stop = new AbortController()
      const following = async (): Promise<void> => {
        for await (const _ of store.watch(sessionId, stop.signal, 'inbox')) await sync()
      }
      following().catch((thrown: unknown) => {
        if (!stop.signal.aborted) options.failed(thrown)
      })
      // An explicit reason: the default creates an error with a stack for each run.
      return () => stop.abort(followed)
    },
  }
}

/** The abort reason after the end of a run. */
const followed = 'the run is over'

function take({ state, pendingInputs, cursor, runId, abort }: InboxOptions, delivery: Delivery): void {
  const { token, value, by } = delivery
  // The log records this delivery as taken, by this process or an earlier one.
  if (cursor.ownTokens.delete(token) || state.resolvedWaits.has(token)) return
  if (token.startsWith(sendToken)) {
    const { input, mode, to = runId }: Record<string, unknown> = isRecord(value) ? value : {}
    const said = { input: inputIn(input), token, by }
    if (to !== runId) pendingInputs.childMessages.push({ ...said, to: String(to), mode: modeOf(mode) })
    else if (modeOf(mode) === 'steer') pendingInputs.steering.push(said)
    else pendingInputs.followUps.push(said)
  } else if (token.startsWith(abortToken)) {
    if (isRecord(value) && value['runId'] === runId) abort(token, abortOptions(value['options']))
  } else pendingInputs.deliveries.set(token, delivery)
  notify(pendingInputs)
}

function abortOptions(value: unknown): AbortOptions {
  if (!isRecord(value)) return {}
  const { drain, graceMs, onPendingApprovals: policy } = value
  return {
    ...(drain === true && { drain }),
    ...(typeof graceMs === 'number' && { graceMs }),
    ...((policy === 'deny' || policy === 'hold' || policy === 'fail') && { onPendingApprovals: policy }),
  }
}
