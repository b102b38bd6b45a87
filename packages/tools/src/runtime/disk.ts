import { randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import type { Dirent } from 'node:fs'
import { lstat, mkdir, open, readdir, realpath, rename, stat, unlink } from 'node:fs/promises'
import path from 'node:path'

import { ProvostError } from '@provost/core'
import type { Runtime, RuntimeFile } from '@provost/core'

import { confineTo, fileError } from './confine.ts'

/** The largest file that is read whole, in bytes. */
export const maxFileBytes: number = 64 * 1024 * 1024

/**
 * Files of one folder and below it, links followed only where they stay inside.
 *
 * @param root absolute path of the folder.
 */
export function createDisk(root: string): Pick<Runtime, 'readFile' | 'writeFile' | 'list'> {
  const confinement = confineTo(root)

  return {
    async readFile(name) {
      const real = await confinement.existing(name)
      try {
        return await readWhole(real, name)
      } catch (error) {
        throw fileError(error, name)
      }
    },

    async writeFile(name, data) {
      const real = await confinement.writable(name)
      try {
        const folder = path.dirname(real)
        await mkdir(folder, { recursive: true })
        // Somebody may have put a link there meanwhile.
        if ((await realpath(folder)) !== folder) await confinement.writable(name)
        await replaceWhole(real, data)
      } catch (error) {
        throw fileError(error, name)
      }
    },

    async list(name) {
      const real = await confinement.existing(name)
      try {
        const entries = await readdir(real, { withFileTypes: true })
        const listed = await Promise.all(entries.map((entry) => row(real, entry, name)))
        return listed.filter((one) => one !== undefined).toSorted((a, b) => (a.name < b.name ? -1 : 1))
      } catch (error) {
        throw fileError(error, name)
      }
    },
  }

  /** A link counts as the file that it leads to. A link to a folder is left out, so that a walk comes to an end. */
  async function row(folder: string, entry: Dirent, name: string): Promise<RuntimeFile | undefined> {
    if (entry.isDirectory()) return { name: entry.name, kind: 'directory', bytes: 0 }
    try {
      const at = entry.isSymbolicLink()
        ? await confinement.existing(path.join(name, entry.name))
        : path.join(folder, entry.name)
      const stats = await lstat(at)
      return stats.isFile() ? { name: entry.name, kind: 'file', bytes: stats.size } : undefined
    } catch {
      // Gone since, or a link that leads nowhere or outside.
      return undefined
    }
  }
}

async function readWhole(real: string, name: string): Promise<Uint8Array> {
  // The path is real: whatever turned into a link since is refused. A pipe is opened without waiting for its writer.
  const file = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  try {
    const stats = await file.stat()
    if (!stats.isFile())
      throw new ProvostError('not-a-file', `${JSON.stringify(name)} is not a file.`, { hint: 'Name a file.' })
    if (stats.size > maxFileBytes)
      throw new ProvostError('file-too-large', `${JSON.stringify(name)} has ${stats.size} bytes.`, {
        hint: `Files up to ${maxFileBytes} bytes can be read; search it with a command instead.`,
      })
    return await file.readFile()
  } finally {
    await file.close()
  }
}

/** Readers see the old bytes or the new ones, never a half: a new file takes the place of the old one. */
async function replaceWhole(real: string, data: string | Uint8Array): Promise<void> {
  const mode = await stat(real).then(
    (stats) => {
      if (stats.isFile()) return stats.mode & 0o777
      throw new ProvostError('not-a-file', 'A folder or a device has that name already.', { hint: 'Choose another.' })
    },
    () => 0o666,
  )
  const temporary = path.join(path.dirname(real), `.provost-${randomUUID()}.tmp`)
  const file = await open(temporary, 'wx', mode)
  try {
    try {
      await file.writeFile(data)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(temporary, real)
  } catch (error) {
    await unlink(temporary).catch(() => undefined)
    throw error
  }
}
