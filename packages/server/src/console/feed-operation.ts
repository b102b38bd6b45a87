import { compensatedSession } from '@provost/agent'
import type { Principal, SessionSummary } from '@provost/core'

import type { OperationSetup } from '../api/operation-setup.ts'
import type { HeldRole } from '../approvals/approver.ts'
import type { FeedFrame } from '../console-answers/console-answer.ts'
import { feedQuery } from '../console-answers/console-query.ts'
import type { Operation } from '../http/operation.ts'
import { operation } from '../http/operation.ts'
import { badRequest } from '../http/request-error.ts'
import { frameStream } from '../stream/frame-stream.ts'
import type { ConsoleAccess } from './console-access.ts'
import type { ConsoleStore } from './console-store.ts'
import { sessionRow } from './console-store.ts'
import type { SessionFeed } from './session-feed.ts'

/** Milliseconds before the last received change from which changes are sent again: clocks of processes differ. */
const overlapMs = 5_000
/** Sessions that a reader receives again when it reconnects; one that was away for longer reads the list. */
const mostMissed = 500
const feedKey = 'console/feed'

/** Returns the route that streams the changes of all sessions. */
export function feedOperation(
  { connections, limits, accepting, report }: OperationSetup,
  { summaries }: ConsoleStore,
  access: ConsoleAccess,
  feed: SessionFeed,
): Operation {
  async function* frames(
    principal: Principal,
    since: number | undefined,
    signal: AbortSignal,
  ): AsyncGenerator<Iterable<string>, void, undefined> {
    let last = since ?? 0
    async function framesOf(role: HeldRole, changed: readonly SessionSummary[]): Promise<readonly string[]> {
      const texts: string[] = []
      for (const summary of changed) {
        last = Math.max(last, summary.updatedAt)
        if (compensatedSession(summary.id) !== undefined) continue
        if (!(await access.mayRead(principal, role, summary.id, summary.principal))) continue
        const data: FeedFrame = sessionRow(summary)
        texts.push(`id: ${last}\nevent: session.changed\ndata: ${JSON.stringify(data)}\n\n`)
      }
      return texts
    }
    const role = await access.roleFor(principal, 'view')
    const changes = feed.follow(signal)
    try {
      yield ['retry: 1000\n\n']
      if (since !== undefined) {
        const missed = await summaries.list({ from: since - overlapMs, limit: mostMissed })
        yield await framesOf(role, missed.toReversed())
      }
      for await (const changed of changes) {
        // The role may have been taken away meanwhile.
        const texts = await framesOf(await access.roleFor(principal, 'view'), changed)
        if (texts.length > 0) yield texts
      }
    } finally {
      await changes.return()
    }
  }

  return operation({
    method: 'get',
    path: '/api/console/feed',
    operationId: 'consoleFeed',
    summary:
      'For operators: streams `session.changed` with the row of a session, at most one for each session in 250 ms. `after` or `Last-Event-ID` resumes it.',
    query: feedQuery,
    headers: { 'last-event-id': 'The id of the last received frame.' },
    success: 200,
    stream: 'text/event-stream',
    async handle({ principal, query, request }) {
      accepting()
      await access.roleFor(principal, 'view', { kind: 'list' })
      const after = request.headers.get('last-event-id') ?? query.after
      if (after !== undefined && !/^\d{1,15}$/u.test(after)) throw badRequest('`after` is not an id of this feed.')
      const release = connections.take(principal.id)
      const control = connections.control(feedKey)
      const body = frameStream(frames(principal, after === undefined ? undefined : Number(after), control.signal), {
        heartbeatMs: limits.heartbeatMs,
        closed() {
          release()
          connections.done(control)
          control.abort()
        },
        failed: (thrown) => report(thrown, { request }),
      })
      return new Response(body, {
        headers: {
          'content-type': 'text/event-stream; charset=utf-8',
          'cache-control': 'no-cache, no-transform',
          'x-accel-buffering': 'no',
        },
      })
    },
  })
}
