import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { join, resolve } from 'node:path'

import { isRecord, ProvostError, toErrorInfo } from '@provost/core'

import { diskError, newerStore } from '../kit/store-error.ts'
import { fileName } from '../text/name-key.ts'
import { damaged, parseLine } from './log-file.ts'

/** The paths of a JSONL store. */
export interface JsonlFolder {
  readonly logs: string
  readonly leases: string
  readonly blobs: string
  /** A file for each tombstone. */
  readonly erased: string
  erasedPath(log: string): string
  logPath(log: string): string
  leasePath(log: string): string
  inboxPath(sessionId: string): string
  blobPath(hash: string): string
}

const version = 1
/** Fences for each opening of the folder. */
const fencesEach = 2 ** 26

/**
 * Returns the folders of a store. Missing folders are created with access for their owner only.
 *
 * @throws ProvostError `store-unusable`
 */
export function makeFolder(dir: string): JsonlFolder {
  const root = resolve(dir)
  const [logs, inbox, blobs] = [join(root, 'logs'), join(root, 'inbox'), join(root, 'blobs')]
  const leases = join(root, 'leases')
  const erased = join(root, 'erased')
  try {
    for (const path of [logs, inbox, blobs, leases, erased]) mkdirSync(path, { recursive: true, mode: 0o700 })
  } catch (cause) {
    throw new ProvostError('store-unusable', `The store ${dir} cannot be created: ${toErrorInfo(cause).message}.`, {
      hint: 'Give a writable folder.',
      cause,
    })
  }
  return {
    logs,
    leases,
    blobs,
    erased,
    erasedPath: (log) => join(erased, `${fileName(log)}.json`),
    leasePath: (log) => join(leases, `${fileName(log)}.json`),
    logPath: (log) => join(logs, `${fileName(log)}.jsonl`),
    inboxPath: (sessionId) => join(inbox, `${fileName(sessionId)}.jsonl`),
    blobPath: (hash) => join(blobs, hash),
  }
}

/**
 * Starts a new epoch of an open folder.
 *
 * @returns a fence below all fences of this opening and above those of all earlier openings.
 * @throws ProvostError `newer-store`, `log-damaged`
 */
export function beginEpoch(dir: string): number {
  const path = join(resolve(dir), 'store.json')
  const known = existsSync(path) ? parseLine(path, readFileSync(path, 'utf8')) : { version, epoch: 0 }
  const { version: found, epoch } = isRecord(known) ? known : {}
  if (Number(found) > version) throw newerStore(`The store ${dir}`, Number(found), version)
  const next = typeof epoch === 'number' ? epoch + 1 : Number.NaN
  if (!(next > 0 && Number.isSafeInteger((next + 1) * fencesEach))) throw damaged(path)
  writeWhole(path, Buffer.from(`${JSON.stringify({ version, epoch: next })}\n`), true)
  return next * fencesEach
}

/** Writes a file atomically. */
export function writeWhole(path: string, bytes: Uint8Array, flushed: boolean): void {
  const draft = `${path}.${process.pid}.${Math.random().toString(36).slice(2)}.tmp`
  const file = openSync(draft, 'wx', 0o600)
  try {
    for (let from = 0; from < bytes.length;) from += writeSync(file, bytes, from)
    if (flushed) fsyncSync(file)
  } catch (error) {
    rmSync(draft, { force: true })
    throw diskError(path, error)
  } finally {
    closeSync(file)
  }
  renameSync(draft, path)
}

/** Flushes the names in a folder to the disk, where the system supports it. */
export function flushFolder(path: string): void {
  try {
    const folder = openSync(path, 'r')
    try {
      fsyncSync(folder)
    } finally {
      closeSync(folder)
    }
  } catch {
    // Windows cannot open folders and does not need this flush.
  }
}
