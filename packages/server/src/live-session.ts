import type { Agent, Session } from '@provost/agent'
import type { Extension, Fold, Principal } from '@provost/core'
import { defineExtension } from '@provost/core'

import type { Feed } from './feed.ts'
import { createFeed } from './feed.ts'
import type { Outward } from './outward.ts'
import type { PassingWriter } from './passing-writer.ts'
import type { RemoteToolInit } from './remote-tool.ts'
import { remoteTools } from './remote-tool.ts'

/** A session that this process has open. */
export interface LiveSession {
  readonly id: string
  readonly agent: Agent<unknown, never>
  /** Absent for a session of nobody. */
  readonly principal: string | undefined
  readonly session: Session<unknown, never>
  readonly feed: Feed
  /** While something goes on: resolves when nothing does. */
  idle: Promise<void> | undefined
}

const lastOffset: Fold<number> = { key: 'server/offset', initial: 0, apply: (_, entry) => entry.offset }

/** The name under which the definitions of a client's tools are in the log. */
export const serverExtension = 'server'
export const toolsKey = 'tools'

/** What the server hangs on each session: the tools that a client brought belong to it. */
function toolsExtension(tools: readonly RemoteToolInit[]): Extension {
  return defineExtension<never>({
    name: serverExtension,
    tools: remoteTools(tools, serverExtension),
    ...(tools.length > 0 && {
      hooks: {
        // In the log, so that whatever process goes on with the session has them too.
        async 'session.start'(ctx) {
          await ctx.append(toolsKey, JSON.parse(JSON.stringify(tools)))
        },
      },
    }),
  })
}

/** All events of a session go to its feed: those of children and of agents that were handed over to, too. */
function feedExtension(feed: Feed): Extension {
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

/** What a session is opened with. */
export interface Opening {
  readonly id: string
  readonly agent: Agent<unknown, never>
  readonly principal: Principal | undefined
  readonly tools: readonly RemoteToolInit[]
  readonly keptEvents: number
  readonly outward: Outward
  /** Keeps what passes for readers in other processes. */
  readonly passing?: PassingWriter | undefined
  open(extensions: readonly Extension[]): Promise<Session<unknown, never>>
}

export async function openSession(opening: Opening): Promise<LiveSession> {
  const { id, agent, principal, tools, keptEvents, outward, passing, open } = opening
  const feed = createFeed(id, keptEvents, outward, passing?.push)
  const session = await open([toolsExtension(tools), feedExtension(feed)])
  return { id, agent, principal: principal?.id, session, feed, idle: undefined }
}
