import { StringDecoder } from 'node:string_decoder'

/** Collects one output stream as text, up to a limit. The rest is dropped. */
export interface Capture {
  write(chunk: Uint8Array): void
  /** Returns all text so far. */
  text(): string
  /** Whether bytes were dropped. */
  readonly truncated: boolean
}

/**
 * @param maxBytes what is kept, in bytes of UTF-8.
 * @param onText receives each kept piece as it arrives, in whole characters.
 */
export function createCapture(maxBytes: number, onText: (text: string) => void): Capture {
  const decoder = new StringDecoder('utf8')
  const pieces: string[] = []
  let room = maxBytes
  let truncated = false
  return {
    write(chunk) {
      if (chunk.length > room) truncated = true
      if (room === 0) return
      const kept = chunk.subarray(0, room)
      room -= kept.length
      const text = decoder.write(kept)
      if (text === '') return
      pieces.push(text)
      onText(text)
    },
    text: () => pieces.join(''),
    get truncated() {
      return truncated
    },
  }
}
