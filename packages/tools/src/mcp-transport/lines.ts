import { StringDecoder } from 'node:string_decoder'

import type { MaybePromise } from '@provost/core'

import { pause, take } from '../foreign-schema/turn.ts'

/** One line, or what is known of one that was too long: its first and its last characters. */
export type Line =
  | { readonly text: string }
  | { readonly text?: undefined; readonly head: string; readonly tail: string }

const edge = 256

/** Bytes that a line counts in addition to its length, since each message is checked as a whole. */
const lineSteps = 1_000

/**
 * Cuts a stream of bytes into lines. Of one that is longer than `maxBytes` only the ends are kept.
 *
 * @returns takes the next bytes; a promise where the event loop gets a turn in between.
 */
export function createLines(maxBytes: number, onLine: (line: Line) => void): (chunk: Buffer) => MaybePromise<void> {
  let kept: Buffer[] = []
  let length = 0
  let head = ''
  let tail: Buffer = Buffer.alloc(0)

  const add = (piece: Buffer): void => {
    length += piece.length
    if (length <= maxBytes) return void kept.push(piece)
    if (kept.length > 0) {
      const first = Buffer.concat(kept)
      head = decode(first.subarray(0, edge))
      tail = first.subarray(-edge)
      kept = []
    }
    tail = Buffer.from(Buffer.concat([tail, piece.subarray(-edge)]).subarray(-edge))
  }
  const end = (): void => {
    take(lineSteps + length)
    const line = length > maxBytes ? { head, tail: decode(tail) } : { text: decode(Buffer.concat(kept)) }
    kept = []
    length = 0
    onLine(line)
  }
  async function takeLater(chunk: Buffer, wait: Promise<void>): Promise<void> {
    await wait
    await takeChunk(chunk)
  }
  function takeChunk(chunk: Buffer): MaybePromise<void> {
    let from = 0
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, from)) {
      add(chunk.subarray(from, at))
      end()
      from = at + 1
      const wait = pause()
      if (wait) return takeLater(chunk.subarray(from), wait)
    }
    if (from < chunk.length) add(chunk.subarray(from))
  }
  return takeChunk
}

/** Incomplete characters at a cut are omitted. */
function decode(bytes: Buffer): string {
  return new StringDecoder('utf8').write(bytes)
}
