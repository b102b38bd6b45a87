import { linkSync, readFileSync, realpathSync, rmSync, statSync, unlinkSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'

import { isRecord, ProvostError } from '@provost/core'

/** Who has a folder. */
interface Holder {
  readonly pid: number
  readonly host: string
  /** Tells a process from a later one with the same id, where the system says it. */
  readonly birth?: string | undefined
}

/** Folders of this process: its own pid is alive in any case. */
const own = new Set<string>()
const takeoverMs = 10_000

/**
 * Takes a folder for this process, as long as the lock file stands. One that a dead process left is taken over.
 *
 * @returns gives the folder back.
 * @throws ProvostError `store-locked`, naming the holder.
 */
export function lockFolder(folder: string): () => void {
  const path = join(realpathSync(folder), 'lock')
  const draft = `${path}.${process.pid}.${Math.random().toString(36).slice(2)}`
  writeFileSync(draft, JSON.stringify({ pid: process.pid, host: hostname(), birth: birthOf(process.pid) }), {
    flag: 'wx',
    mode: 0o600,
  })
  try {
    if (!place(draft, path)) {
      const holder = holderOf(path)
      if (holder && isAlive(holder, path)) throw locked(folder, holder)
      takeOver(draft, path, folder)
    }
  } finally {
    rmSync(draft, { force: true })
  }
  own.add(path)
  return () => {
    if (own.delete(path)) rmSync(path, { force: true })
  }
}

/** Creates the lock with its content in one step, or not at all: nobody reads half of it. */
function place(draft: string, path: string): boolean {
  try {
    linkSync(draft, path)
    return true
  } catch (error) {
    if (isRecord(error) && error['code'] === 'EEXIST') return false
    throw error
  }
}

/** Of several that find the lock of a dead process, one may remove it; the others see its lock, or that it is at it. */
function takeOver(draft: string, path: string, folder: string): void {
  const guard = `${path}.takeover`
  if (!place(draft, guard)) {
    // One that died at it leaves the guard behind.
    if (ageOf(guard) > takeoverMs) rmSync(guard, { force: true })
    throw locked(folder, holderOf(path))
  }
  try {
    const holder = holderOf(path)
    if (holder && isAlive(holder, path)) throw locked(folder, holder)
    rmSync(path, { force: true })
    if (!place(draft, path)) throw locked(folder, holderOf(path))
  } finally {
    unlinkSync(guard)
  }
}

function holderOf(path: string): Holder | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(path, 'utf8'))
    if (!isRecord(value) || typeof value['pid'] !== 'number' || typeof value['host'] !== 'string') return undefined
    const { pid, host, birth } = value
    return { pid, host, ...(typeof birth === 'string' && { birth }) }
  } catch {
    return undefined
  }
}

function isAlive({ pid, host, birth }: Holder, path: string): boolean {
  // Another machine's processes cannot be seen from here.
  if (host !== hostname() || own.has(path)) return true
  try {
    process.kill(pid, 0)
  } catch (error) {
    if (isRecord(error) && error['code'] === 'ESRCH') return false
  }
  const now = birthOf(pid)
  return birth === undefined || now === undefined || birth === now
}

/** When a process began, on systems that have it in a file: ids are used again, in containers at once. */
function birthOf(pid: number): string | undefined {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name of the program stands in front in brackets, and can hold anything.
    return `${boot} ${fields.slice(fields.lastIndexOf(')') + 2).split(' ')[19]}`
  } catch {
    return undefined
  }
}

function ageOf(path: string): number {
  return Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now())
}

function locked(folder: string, holder: Holder | undefined): ProvostError {
  const who = holder
    ? `process ${holder.pid}${holder.host === hostname() ? '' : ` on ${holder.host}`}${holder.pid === process.pid && holder.host === hostname() ? ' (this one)' : ''}`
    : 'another process'
  return new ProvostError('store-locked', `The store ${folder} is in use by ${who}.`, {
    hint:
      holder && holder.host !== hostname()
        ? `If that process has ended, remove ${join(folder, 'lock')}.`
        : 'Close it there first, or use sqliteStore, which several processes can share.',
  })
}
