import { closeSync, fdatasync, fstatSync, ftruncateSync, openSync, readSync, statSync, writeSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { promisify } from 'node:util'

import { ProvostError } from '@provost/core'

import { diskError } from '../kit/store-error.ts'

const newline = 10
const chunkBytes = 1024 * 1024
const markEvery = 64
const flush = promisify(fdatasync)

/** The position of a line in a file. */
interface Mark {
  readonly line: number
  readonly at: number
}

/**
 * An append-only file of lines. Each write is atomic: each of its lines but the last ends in a space, which JSON permits,
 * so that a torn write is recognized.
 */
export interface LineFile {
  /** Number of lines. */
  readonly lines: number
  /** Size in bytes. */
  readonly size: number
  append(texts: readonly string[]): void
  /** Flushes all writes to the disk. */
  flush(): Promise<void>
  /** Yields pages of the lines after the first `skip`, up to the present end. */
  read(skip: number): AsyncIterable<readonly string[]>
  close(): void
}

/** A torn end of a file that was cut off after a crash. */
export interface Torn {
  readonly path: string
  readonly bytes: number
}

/**
 * Opens a file of lines; creates a missing one.
 *
 * @param repaired receives the torn end that was cut off.
 */
export function openLines(path: string, repaired: (torn: Torn) => void): LineFile {
  const file = openSync(path, 'a+', 0o600)
  const marks: Mark[] = []
  let { lines, size, torn } = survey(file, marks)
  if (torn > 0) {
    ftruncateSync(file, size)
    repaired({ path, bytes: torn })
  }

  return {
    get lines() {
      return lines
    },
    get size() {
      return size
    },
    append(texts) {
      const last = texts.length - 1
      const bytes = Buffer.from(texts.map((text, n) => (n < last ? `${text} \n` : `${text}\n`)).join(''))
      try {
        for (let from = 0; from < bytes.length;) from += writeSync(file, bytes, from)
      } catch (error) {
        // A full disk leaves a partial write, to which the next write must not be appended.
        ftruncateSync(file, size)
        throw diskError(path, error)
      }
      let at = size
      texts.forEach((text, n) => {
        if ((lines + n) % markEvery === 0) marks.push({ line: lines + n, at })
        if (n < last) at += Buffer.byteLength(text) + 2
      })
      lines += texts.length
      size += bytes.length
    },
    flush: () => flush(file),
    async *read(skip) {
      if (skip >= lines) return
      const from = before(marks, skip)
      let extra = skip - from.line
      for await (const page of readLines(path, from.at, size)) {
        if (page.length > extra) yield extra > 0 ? page.slice(extra) : page
        extra = Math.max(0, extra - page.length)
      }
    },
    close: () => closeSync(file),
  }
}

/** Returns the last mark at or before a line. */
function before(marks: readonly Mark[], line: number): Mark {
  let [low, high] = [0, marks.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((marks[middle]?.line ?? 0) <= line) low = middle + 1
    else high = middle
  }
  return marks[low - 1] ?? { line: 0, at: 0 }
}

/** Counts the lines of a file, and the bytes after its last complete write. */
function survey(file: number, marks: Mark[]): { lines: number; size: number; torn: number } {
  const total = fstatSync(file).size
  const chunk = Buffer.allocUnsafe(chunkBytes)
  let lines = 0
  let size = 0
  let pending = 0
  let previous = 0
  for (let at = 0; at < total;) {
    const count = readSync(file, chunk, 0, chunk.length, at)
    if (count === 0) break
    for (let n = chunk.indexOf(newline); n >= 0 && n < count; n = chunk.indexOf(newline, n + 1)) {
      if ((lines + ++pending) % markEvery === 0) marks.push({ line: lines + pending, at: at + n + 1 })
      const last = n > 0 ? chunk[n - 1] : previous
      if (last === 0x20) continue
      lines += pending
      pending = 0
      size = at + n + 1
    }
    previous = chunk[count - 1] ?? 0
    at += count
  }
  while ((marks.at(-1)?.line ?? 0) > lines) marks.pop()
  return { lines, size, torn: total - size }
}

/** Yields the lines of a part of a file in pages, so that a line costs no separate await. */
export async function* readLines(path: string, from = 0, to?: number): AsyncIterable<readonly string[]> {
  const end = to ?? statSync(path).size
  const file = await open(path, 'r')
  try {
    let rest: Buffer[] = []
    for (let at = from; at < end;) {
      const chunk = Buffer.allocUnsafe(Math.min(chunkBytes, end - at))
      const { bytesRead } = await file.read(chunk, 0, chunk.length, at)
      if (bytesRead === 0) break
      at += bytesRead
      const part = chunk.subarray(0, bytesRead)
      const last = part.lastIndexOf(newline)
      if (last < 0) {
        rest.push(part)
        continue
      }
      const complete = rest.length > 0 ? Buffer.concat([...rest, part.subarray(0, last)]) : part.subarray(0, last)
      rest = last + 1 < part.length ? [part.subarray(last + 1)] : []
      // Split at newlines, so that no character is cut.
      yield complete.toString('utf8').split('\n')
    }
  } finally {
    await file.close()
  }
}

/** Parses a line. Invalid JSON is not the trace of a crash, but damage. */
export function parseLine(path: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw damaged(path, cause)
  }
}

export function damaged(path: string, cause?: unknown): ProvostError {
  return new ProvostError('log-damaged', `${path} has a damaged line.`, {
    hint: 'Restore the file from a backup.',
    cause,
  })
}
