import { linkSync, readFileSync, realpathSync, rmSync, statSync, unlinkSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'

import { isRecord, ProvostError } from '@provost/core'

/** The process that holds a folder. */
interface Holder {
  readonly pid: number
  readonly host: string
  /** Distinguishes a process from a later one with the same id, on systems that report it. */
  readonly birth?: string | undefined
}

/** Folders of this process, whose own pid is always alive. */
const own = new Set<string>()
const takeoverMs = 10_000

/**
 * Locks a folder for this process, as long as the lock file exists. The lock of a dead process is taken over.
 *
 * @returns a function that releases the folder.
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

/** Creates the lock with its content atomically, so that no process reads a partial lock. */
function place(draft: string, path: string): boolean {
  try {
    linkSync(draft, path)
    return true
  } catch (error) {
    if (isRecord(error) && error['code'] === 'EEXIST') return false
    throw error
  }
}

/** Takes over the lock of a dead process. Of several processes one may remove it; the others see its guard or its lock. */
function takeOver(draft: string, path: string, folder: string): void {
  const guard = `${path}.takeover`
  if (!place(draft, guard)) {
    // A process that died during the takeover leaves its guard.
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
  // Processes of other machines are not visible here.
  if (host !== hostname() || own.has(path)) return true
  try {
    process.kill(pid, 0)
  } catch (error) {
    if (isRecord(error) && error['code'] === 'ESRCH') return false
  }
  const now = birthOf(pid)
  return birth === undefined || now === undefined || birth === now
}

/** Returns the start time of a process, on systems with `/proc`. Process ids are reused, in containers immediately. */
function birthOf(pid: number): string | undefined {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The program name precedes in parentheses and can hold any characters.
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
        : 'Close it there, or use sqliteStore, which several processes can share.',
  })
}
