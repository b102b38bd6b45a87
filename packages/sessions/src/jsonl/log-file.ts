import { closeSync, fdatasync, fstatSync, ftruncateSync, openSync, readSync, statSync, writeSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { promisify } from 'node:util'

import { ProvostError } from '@provost/core'

import { inWords } from '../kit/store-error.ts'

const newline = 10
const chunkBytes = 1024 * 1024
const markEvery = 64
const flush = promisify(fdatasync)

/** Where in a file a line begins. */
interface Mark {
  readonly line: number
  readonly at: number
}

/**
 * A file of lines that only grows. What is written in one go is there as a whole or not at all: a line that more of the
 * same go follows ends in a space, which JSON does not mind.
 */
export interface LineFile {
  /** Lines so far. */
  readonly lines: number
  /** Bytes so far. */
  readonly size: number
  append(texts: readonly string[]): void
  /** Forces what was written to the disk. */
  flush(): Promise<void>
  /** The lines behind the first `skip`, up to the present end, by the page. */
  read(skip: number): AsyncIterable<readonly string[]>
  close(): void
}

/** The end of a file that a crash tore off, and that is gone now. */
export interface Torn {
  readonly path: string
  readonly bytes: number
}

/**
 * Opens a file of lines, which comes into being if it is missing.
 *
 * @param repaired is told what had to be cut off the end.
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
        // A full disk leaves a part; what follows must not be glued to it.
        ftruncateSync(file, size)
        throw inWords(path, error)
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

/** The last mark that is not behind a line. */
function before(marks: readonly Mark[], line: number): Mark {
  let [low, high] = [0, marks.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((marks[middle]?.line ?? 0) <= line) low = middle + 1
    else high = middle
  }
  return marks[low - 1] ?? { line: 0, at: 0 }
}

/** Counts the lines of a file, and finds what stands behind its last complete go. */
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

/** The lines of a part of a file, by the page: so many at a time cost no more than one. */
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
      const whole = rest.length > 0 ? Buffer.concat([...rest, part.subarray(0, last)]) : part.subarray(0, last)
      rest = last + 1 < part.length ? [part.subarray(last + 1)] : []
      // Between newlines: no character is cut in two.
      yield whole.toString('utf8').split('\n')
    }
  } finally {
    await file.close()
  }
}

/** JSON of a line; one that is none was damaged by something else than a crash. */
export function parseLine(path: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw damaged(path, cause)
  }
}

export function damaged(path: string, cause?: unknown): ProvostError {
  return new ProvostError('log-damaged', `${path} holds a line that is not what was written.`, {
    hint: 'Restore the file from a backup.',
    cause,
  })
}
