import type { FilePart, SessionStore } from '@provost/core'

/** Files below this size stay in the message, in bytes of their base64. A larger one is stored once, however often it is sent. */
const smallest = 16_384

/** The source of a file in a request: its bytes, its address, or the hash of a file that the chat has. */
export type GivenFile = FilePart['data'] | { readonly type: 'kept'; readonly hash: string }

/** Returns the source of a file as the log has it. */
export async function blobOf(
  data: GivenFile,
  store: Pick<SessionStore, 'blob' | 'putBlob'>,
): Promise<FilePart['data']> {
  if (data.type === 'kept') {
    const kept = await store.blob(data.hash)
    return kept
      ? { type: 'blob', hash: data.hash, bytes: kept.byteLength }
      : { type: 'text', text: 'The file is no longer stored.' }
  }
  if (data.type !== 'data' || data.data.length < smallest) return data
  const bytes = Buffer.from(data.data, 'base64')
  return { type: 'blob', hash: await store.putBlob(bytes), bytes: bytes.byteLength }
}
