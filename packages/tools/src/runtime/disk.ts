import { randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import type { Dirent } from 'node:fs'
import { lstat, open, readdir, rename, unlink } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import path from 'node:path'

import { ProvostError } from '@provost/core'
import type { Runtime, RuntimeFile } from '@provost/core'

import { confineTo, fileError } from './confine.ts'
import { holdFolder, holdNewFolder } from './held-folder.ts'

/** Bytes of the largest file that is read as a whole. */
export const maxFileBytes: number = 64 * 1024 * 1024

/**
 * Files of one folder and below it, links followed only where they stay inside.
 *
 * @param root absolute path of the folder.
 */
export function createDisk(root: string): Required<Pick<Runtime, 'readFile' | 'readRange' | 'writeFile' | 'list'>> {
  const confinement = confineTo(root)

  return {
    readFile: (name) => reading(name, (file, size) => whole(file, size, name)),

    readRange: (name, from, to) =>
      reading(name, async (file, size) => ({ bytes: await stretch(file, from, Math.min(to, size)), size })),

    async writeFile(name, data) {
      const real = await confinement.writable(name)
      try {
        const folder = await holdNewFolder(confinement, path.dirname(real), name)
        try {
          await replaceWhole(folder.path, path.basename(real), data)
        } finally {
          await folder.close()
        }
      } catch (error) {
        throw fileError(error, name)
      }
    },

    async list(name) {
      const real = await confinement.existing(name)
      try {
        const folder = await holdFolder(confinement, real, name)
        try {
          const entries = await readdir(folder.path, { withFileTypes: true })
          const listed = await Promise.all(entries.map((entry) => row(folder.path, entry, name)))
          return listed.filter((one) => one !== undefined).toSorted((a, b) => (a.name < b.name ? -1 : 1))
        } finally {
          await folder.close()
        }
      } catch (error) {
        throw fileError(error, name)
      }
    },
  }

  async function reading<T>(name: string, use: (file: FileHandle, size: number) => Promise<T>): Promise<T> {
    const real = await confinement.existing(name)
    try {
      // A pipe is opened without waiting for its writer.
      const file = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
      try {
        await confinement.opened(file.fd, name)
        const stats = await file.stat()
        if (!stats.isFile())
          throw new ProvostError('not-a-file', `${JSON.stringify(name)} is not a file.`, { hint: 'Name a file.' })
        return await use(file, stats.size)
      } finally {
        await file.close()
      }
    } catch (error) {
      throw fileError(error, name)
    }
  }

  /**
   * Lists a folder. A link counts as its target file. A link to a folder is omitted, so that a walk ends.
   */
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

async function whole(file: FileHandle, size: number, name: string): Promise<Uint8Array> {
  if (size > maxFileBytes)
    throw new ProvostError('file-too-large', `${JSON.stringify(name)} has ${size} bytes.`, {
      hint: `Files up to ${maxFileBytes} bytes can be read as a whole: read a range of bytes, with fromByte.`,
    })
  return file.readFile()
}

async function stretch(file: FileHandle, from: number, to: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(Math.max(0, Math.min(to - from, maxFileBytes)))
  let filled = 0
  while (filled < bytes.length) {
    const { bytesRead } = await file.read(bytes, filled, bytes.length - filled, from + filled)
    if (bytesRead === 0) break
    filled += bytesRead
  }
  return bytes.subarray(0, filled)
}

/** Readers see the old bytes or the new ones, never a half: a new file takes the place of the old one. */
async function replaceWhole(folder: string, name: string, data: string | Uint8Array): Promise<void> {
  const real = path.join(folder, name)
  const mode = await lstat(real).then(
    (stats) => {
      if (stats.isFile()) return stats.mode & 0o777
      throw new ProvostError('not-a-file', 'A folder or a device has that name already.', { hint: 'Choose another.' })
    },
    () => 0o666,
  )
  const temporary = path.join(folder, `.provost-${randomUUID()}.tmp`)
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
