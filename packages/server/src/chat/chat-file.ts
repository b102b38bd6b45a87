const address = /^(?:https?:\/\/[^/?#]+)?[^?#]*\/api\/chat\/[^/?#]+\/file\?hash=([0-9a-f]{64})$/u

/** Returns the hash in an address that {@link fileAddress} made. */
export function fileHash(url: string): string | undefined {
  return url.length > 2_000 ? undefined : address.exec(url)?.[1]
}

/** Returns the address at which a page reads a file of a chat. */
export function fileAddress(chat: string, hash: string): string {
  return `/api/chat/${encodeURIComponent(chat)}/file?hash=${hash}`
}
