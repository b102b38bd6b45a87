import type { Client } from '@provost/client'
import { createClient } from '@provost/client'
import type { AgentEvent, FilePart, Message, PendingWork } from '@provost/core'
import { noPendingWork } from '@provost/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'

import { apiUrl, askJson, client, headers } from '../wire/connection.ts'
import type { Conversation } from './conversation.ts'
import { conversationOf, withEvent, withOpenCalls, withSent } from './conversation.ts'

/** A conversation that follows its session, and what a person may do in it. */
export interface LiveConversation {
  readonly conversation: Conversation
  readonly pending: PendingWork
  readonly isRunning: boolean
  readonly isWaiting: boolean
  readonly isLoading: boolean
  readonly error: Error | null
  /** Sends input: starts a run, or reaches the running one before its next model call or when it would end. */
  send(text: string, files: readonly FilePart[], mode: 'steer' | 'queue'): Promise<void>
  abort(): Promise<void>
  answer(id: string, value: unknown): Promise<void>
  decide(id: string, decision: 'approve' | 'deny', reason: string): Promise<void>
}

/**
 * Follows the conversation of a session.
 *
 * @param status of the session as the feed tells it: a run that begins elsewhere is followed too.
 * @param reads `streams`; or `entries`, where the server withholds secrets: each message is shown once it is complete.
 */
export function useConversation(
  id: string,
  status: string | undefined,
  reads: 'streams' | 'entries',
): LiveConversation {
  const queries = useQueryClient()
  const key = ['session', id, 'talk']
  const [live, setLive] = useState<Live | undefined>()
  const [isFollowing, setFollowing] = useState(false)
  const view = useQuery({
    queryKey: [...key, reads],
    queryFn: async (): Promise<TalkView> => (reads === 'streams' ? client.session(id).get() : withheldView(id)),
    // The stream says all that a new reading would: a long conversation is not read again with each step of its run.
    enabled: !isFollowing,
  })
  const leaving = useRef<AbortController | undefined>(undefined)

  async function read(events: AsyncIterable<AgentEvent>, signal: AbortSignal): Promise<void> {
    setFollowing(true)
    const batch = framed((taken) => setLive((before) => taken.reduce(withLive, before ?? nothing)))
    try {
      for await (const event of events) if (!signal.aborted) batch.add(event)
    } finally {
      batch.flush()
      if (!signal.aborted) {
        setFollowing(false)
        await queries.invalidateQueries({ queryKey: key })
      }
    }
  }

  useEffect(() => {
    const left = new AbortController()
    leaving.current = left
    return () => left.abort()
  }, [id])

  const { data } = view
  useEffect(() => {
    if (!data || isFollowing) return
    const asked = new Set(data.pending.approvals.map(({ callId }) => callId))
    const conversation = withOpenCalls(conversationOf(data.messages), data.status === 'running', asked)
    setLive({ conversation, pending: data.pending })
  }, [data])
  useEffect(() => {
    // What was read before the view was left is read again first.
    if (data?.status !== 'running' || isFollowing || view.isFetching || reads === 'entries') return
    const { signal } = leaving.current ?? new AbortController()
    const stream = leavable(signal)
      .session(id)
      .follow(data.lastEventId === undefined ? {} : { lastEventId: data.lastEventId })
    void read(stream, signal)
  }, [data, view.dataUpdatedAt])
  // A run that another process or page began.
  useEffect(() => {
    if (status !== undefined && data && status !== data.status && !isFollowing)
      void queries.invalidateQueries({ queryKey: key })
  }, [status])

  const current = live ?? nothing
  const isWaiting = !isFollowing && data?.status === 'suspended'
  return {
    ...current,
    isRunning: isFollowing,
    isWaiting,
    isLoading: view.isPending || (data !== undefined && live === undefined),
    error: view.error,
    async send(text, files, mode) {
      const session = client.session(id)
      const input = files.length === 0 ? text : [...(text === '' ? [] : [{ type: 'text' as const, text }]), ...files]
      if (isFollowing || isWaiting) {
        await (isFollowing && mode === 'steer' ? session.steer(input) : session.followUp(input))
        setLive((before = nothing) => ({ ...before, conversation: withSent(before.conversation, text, files) }))
        return
      }
      const { signal } = leaving.current ?? new AbortController()
      const stream = leavable(signal).session(id).execute(input)
      const reading = read(stream, signal)
      // A request that the server refuses ends the stream at once.
      await stream.result.then(
        () => {},
        async (refused: unknown) => {
          await reading
          throw refused
        },
      )
    },
    abort: () => client.session(id).abort(),
    async answer(wait, value) {
      await client.decide(id, { inputs: [{ id: wait, value }] })
      await queries.invalidateQueries({ queryKey: key })
    },
    async decide(wait, decision, reason) {
      await client.decide(id, { approvals: [{ id: wait, decision, ...(reason !== '' && { reason }) }] })
      await queries.invalidateQueries({ queryKey: key })
    },
  }
}

/** More than the entries of any log. */
const lastEntry = 1e9

/** Returns the conversation as the console's routes show it: without secrets, and its last 200 messages. */
async function withheldView(id: string): Promise<TalkView> {
  const path = `/api/console/session/${encodeURIComponent(id)}/state`
  const { status, view } = await askJson<{ readonly status: string; readonly view: readonly Message[] }>(path, {
    query: { at: lastEntry },
  })
  return { status, messages: view, pending: noPendingWork }
}

/** What is read of a session. */
interface TalkView {
  readonly status: string
  readonly messages: readonly Message[]
  readonly pending: PendingWork
  readonly lastEventId?: string
}

interface Live {
  readonly conversation: Conversation
  readonly pending: PendingWork
}

const nothing: Live = { conversation: { turns: [], queued: [] }, pending: noPendingWork }

function withLive({ conversation, pending }: Live, event: AgentEvent): Live {
  return { conversation: withEvent(conversation, event), pending: withWait(pending, event) }
}

function withWait(pending: PendingWork, event: AgentEvent): PendingWork {
  const without = <T extends { readonly id: string }>(list: readonly T[], id: string): readonly T[] =>
    list.filter((one) => one.id !== id)
  switch (event.type) {
    case 'input.requested':
      return { ...pending, inputs: [...without(pending.inputs, event.id), event] }
    case 'input.resolved':
      return { ...pending, inputs: without(pending.inputs, event.token) }
    case 'tool.approval.requested':
      return { ...pending, approvals: [...without(pending.approvals, event.id), event] }
    case 'tool.approval.resolved':
      return { ...pending, approvals: without(pending.approvals, event.token) }
    case 'agent.suspended':
      return event.parents.length === 0 ? event.pending : pending
    default:
      return pending
  }
}

/**
 * Returns a client whose streams end when the view is left. The signal of a run would abort the run: a reader that goes away
 * must not. A reader does not resume a run whose process died either.
 */
function leavable(signal: AbortSignal): Client {
  return createClient({
    baseUrl: apiUrl,
    headers,
    fetch: (url, init) =>
      fetch(url.endsWith('/events') ? `${url}?recover=0` : url, {
        ...init,
        signal: init.signal ? AbortSignal.any([init.signal, signal]) : signal,
      }),
  })
}

/** Collects events, and passes them on once per frame. */
function framed(pass: (events: readonly AgentEvent[]) => void): { add(event: AgentEvent): void; flush(): void } {
  let waiting: AgentEvent[] = []
  let frame: number | undefined
  function flush(): void {
    if (frame !== undefined) cancelAnimationFrame(frame)
    frame = undefined
    const taken = waiting
    waiting = []
    if (taken.length > 0) pass(taken)
  }
  return {
    add(event) {
      waiting.push(event)
      // A hidden page has no frames.
      if (document.hidden) flush()
      else frame ??= requestAnimationFrame(flush)
    },
    flush,
  }
}
