import type { FilePart, Message, SessionStore, TextPart } from '@provost/core'
import { clockOf } from '@provost/core'

import { blobOf } from './stored-file.ts'

/** What a client may put into a user message. */
export type UserPart = TextPart | FilePart

/** Returns the user message of a request. Large files become blobs of the store: the log has them once. */
export async function userMessage(id: string, parts: readonly UserPart[], store: SessionStore): Promise<Message> {
  const content = await Promise.all(
    parts.map(async (part) => (part.type === 'text' ? part : { ...part, data: await blobOf(part.data, store) })),
  )
  return { id, role: 'user', content, createdAt: clockOf(store).now() }
}
