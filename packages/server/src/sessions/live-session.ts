import type { Agent, Session } from '@provost/agent'
import type { Extension, Fold, Principal } from '@provost/core'
import { defineExtension } from '@provost/core'

import type { ClientRedaction } from '../http/public-errors.ts'
import type { RequestOptions } from '../options/request-options.ts'
import type { EventFeed } from '../stream/event-feed.ts'
import { createEventFeed } from '../stream/event-feed.ts'
import type { TransientWriter } from '../stream/transient-writer.ts'
import type { RemoteToolInit } from './remote-tool.ts'
import { remoteTools } from './remote-tool.ts'
import type { RequestedRun } from './requested-options.ts'
import { requestedRun } from './requested-options.ts'

/** A session that this process has open. */
export interface LiveSession {
  readonly id: string
  readonly agent: Agent<unknown, never>
  /** Absent for a session without a principal. */
  readonly principal: string | undefined
  readonly session: Session<unknown, never>
  readonly feed: EventFeed
  /** Absent if requests may not set options. */
  readonly requested?: RequestedRun
  /** Set while a run is active; resolves when the session is idle. */
  idle: Promise<void> | undefined
}

/** A session that readers only look at. It is not opened, since the store counts who opens a session whose process died. */
export type WatchedSession = Pick<LiveSession, 'id' | 'feed' | 'idle'> & {
  readonly agent?: never
  readonly session: Pick<Session<unknown, never>, 'status'>
}

export function watchedSession(id: string, redaction: ClientRedaction): WatchedSession {
  return { id, feed: createEventFeed(id, 0, redaction), idle: undefined, session: { status: 'idle' } }
}

const lastOffset: Fold<number> = { key: 'server/offset', initial: 0, apply: (_, entry) => entry.offset }

/** The extension name under which the log records the definitions of a client's tools. */
export const serverExtension = 'server'
export const toolsKey = 'tools'

/** Returns the extension that adds a client's tools to its session. */
export function toolsExtension(tools: readonly RemoteToolInit[]): Extension {
  return defineExtension<never>({
    name: serverExtension,
    tools: remoteTools(tools, serverExtension),
    ...(tools.length > 0 && {
      hooks: {
        // Recorded in the log, so that any process that resumes the session has them.
        async 'session.start'(ctx) {
          await ctx.append(toolsKey, JSON.parse(JSON.stringify(tools)))
        },
      },
    }),
  })
}

/** Returns the extension that sends all events of a session to its feed, also those of children and of handoffs. */
function feedExtension(feed: EventFeed): Extension {
  return defineExtension({
    name: 'server-feed',
    scope: 'tree',
    observer: true,
    hooks: {
      event(event, ctx) {
        feed.push(event, () => ctx.fold(lastOffset))
      },
    },
  })
}

/** Options with which a session is opened. */
export interface Opening {
  readonly id: string
  readonly agent: Agent<unknown, never>
  readonly principal: Principal | undefined
  readonly tools: readonly RemoteToolInit[]
  readonly requestOptions: RequestOptions | undefined
  readonly keptEvents: number
  readonly redaction: ClientRedaction
  /** Stores transient events for readers in other processes. */
  readonly passing?: TransientWriter | undefined
  open(extensions: readonly Extension[]): Promise<Session<unknown, never>>
}

export async function openSession(opening: Opening): Promise<LiveSession> {
  const { id, agent, principal, tools, requestOptions, keptEvents, redaction, passing, open } = opening
  const feed = createEventFeed(id, keptEvents, redaction, passing?.push)
  const requested = requestOptions && requestedRun(requestOptions)
  const more = requested ? [requested.extension] : []
  const session = await open([toolsExtension(tools), ...more, feedExtension(feed)])
  return { id, agent, principal: principal?.id, session, feed, ...(requested && { requested }), idle: undefined }
}
