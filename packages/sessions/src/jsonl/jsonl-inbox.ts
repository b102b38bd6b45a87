import { existsSync, rmSync } from 'node:fs'

import type { Clock, Delivery, Json } from '@provost/core'
import { isRecord } from '@provost/core'

import { deliveryId } from '../kit/delivery-id.ts'
import { freezeParsed } from '../text/entry-text.ts'
import type { JsonlFolder } from './jsonl-folder.ts'
import { damaged, openLines, parseLine } from './log-file.ts'
import type { Torn } from './log-file.ts'

/** The inboxes of the sessions of a folder. */
export interface JsonlInboxes {
  /** Delivers a value. @returns whether it was the first for its token. */
  deliver(sessionId: string, token: string, value: Json, by: string, flushed: boolean): Promise<boolean>
  read(sessionId: string, after: string): AsyncIterable<Delivery>
  /** Drops the cached inbox of a session. */
  drop(sessionId: string): void
  remove(sessionId: string): void
}

interface Inbox {
  readonly tokens: Set<string>
  readonly deliveries: Delivery[]
}

export function jsonlInboxes(folder: JsonlFolder, clock: Clock, repaired: (torn: Torn) => void): JsonlInboxes {
  const inboxes = new Map<string, Promise<Inbox>>()

  async function load(sessionId: string): Promise<Inbox> {
    const path = folder.inboxPath(sessionId)
    const inbox: Inbox = { tokens: new Set(), deliveries: [] }
    if (!existsSync(path)) return inbox
    const file = openLines(path, repaired)
    try {
      for await (const page of file.read(0)) {
        for (const line of page) {
          const value = parseLine(path, line)
          if (!isRecord(value) || typeof value['token'] !== 'string') throw damaged(path)
          add(inbox, deliveryOf(value))
        }
      }
    } finally {
      file.close()
    }
    return inbox
  }

  /** Returns the current inbox. An inbox that was dropped while it loaded may lack later deliveries, so it is loaded again. */
  async function inboxOf(sessionId: string): Promise<Inbox> {
    for (;;) {
      const loading = inboxes.get(sessionId) ?? load(sessionId)
      inboxes.set(sessionId, loading)
      try {
        const inbox = await loading
        if (inboxes.get(sessionId) === loading) return inbox
      } catch (error) {
        // The next attempt may succeed.
        if (inboxes.get(sessionId) === loading) inboxes.delete(sessionId)
        throw error
      }
    }
  }

  return {
    async deliver(sessionId, token, value, by, flushed) {
      const inbox = await inboxOf(sessionId)
      if (inbox.tokens.has(token)) return false
      const id = deliveryId(inbox.deliveries.length + 1)
      const text = JSON.stringify({ id, token, value, by, at: clock.now() })
      const file = openLines(folder.inboxPath(sessionId), repaired)
      try {
        file.append([text])
        add(inbox, deliveryOf(JSON.parse(text)))
        if (flushed) await file.flush()
      } finally {
        file.close()
      }
      return true
    },

    async *read(sessionId, after) {
      const { deliveries } = await inboxOf(sessionId)
      for (let n = Number(after); n < deliveries.length; n++) {
        const delivery = deliveries[n]
        if (delivery) yield delivery
      }
    },

    drop: (sessionId) => void inboxes.delete(sessionId),

    remove(sessionId) {
      inboxes.delete(sessionId)
      rmSync(folder.inboxPath(sessionId), { force: true })
    },
  }
}

function add(inbox: Inbox, delivery: Delivery): void {
  freezeParsed(delivery)
  inbox.tokens.add(delivery.token)
  inbox.deliveries.push(delivery)
}

function deliveryOf(value: unknown): Delivery {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- deliver wrote it, and a torn line is cut off.
  return value as Delivery
}
