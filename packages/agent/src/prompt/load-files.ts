import type { FilePart, Message, Part, SessionStore } from '@provost/core'

/** Messages with the bytes of their files, by the message that names the blobs. */
export type LoadedFiles = ReadonlyMap<Message, Message>

/**
 * Loads the bytes of files that user messages name as blobs of the store. A blob that is gone becomes a text that says so.
 *
 * @returns undefined if no user message from the index on names a blob.
 */
export function loadFiles(
  store: Pick<SessionStore, 'blob'>,
  messages: readonly Message[],
  from: number,
): Promise<LoadedFiles> | undefined {
  const named: Message[] = []
  for (let index = from; index < messages.length; index++) {
    const message = messages[index]
    if (message?.role === 'user' && message.content.some(isBlob)) named.push(message)
  }
  return named.length > 0 ? loadAll(store, named) : undefined
}

async function loadAll(store: Pick<SessionStore, 'blob'>, messages: readonly Message[]): Promise<LoadedFiles> {
  const loaded = new Map<Message, Message>()
  for (const message of messages) {
    const content = await Promise.all(
      message.content.map(async (part) => (isBlob(part) ? withBytes(store, part) : part)),
    )
    loaded.set(message, { ...message, content })
  }
  return loaded
}

type BlobPart = FilePart & { readonly data: Extract<FilePart['data'], { type: 'blob' }> }

function isBlob(part: Part): part is BlobPart {
  return (part.type === 'file' || part.type === 'reasoning-file') && part.data.type === 'blob'
}

async function withBytes(store: Pick<SessionStore, 'blob'>, part: BlobPart): Promise<Part> {
  const bytes = await store.blob(part.data.hash)
  if (bytes) return { ...part, data: { type: 'data', data: Buffer.from(bytes).toString('base64') } }
  const { filename = 'A file', label } = part
  return { type: 'text', text: `[${filename} is no longer stored.]`, ...(label && { label }) }
}
